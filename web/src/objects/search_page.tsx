import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api, type Schemas } from '@/api/client';
import { Button, buttonClass } from '@/ui/button';
import { type Column, DataTable, useNarrow } from '@/ui/data_table';
import { Dialog } from '@/ui/dialog';
import { TextField } from '@/ui/field';
import { Icon } from '@/ui/icon';
import { usePagedRows } from '@/ui/paged_rows';
import { RefPicker } from '@/ui/ref_picker';
import { EmptyState, ErrorPanel, Progress } from '@/ui/states';
import { Bytes, Name, Time } from '@/ui/text';
import { ObjectPanel } from './object_panel';
import type { ObjectStats } from './object_queries';
import { folderOf, nameOf } from './paths';
import type { ObjectSearch } from './object_search';
import styles from './search_page.module.css';

const route = getRouteApi('/signed-in/r/$repository/$ref/search');
const pageSize = 200;

/** The conditions as parameters of the API. */
function conditionsOf(search: ObjectSearch) {
  return {
    ...(search.glob ? { glob: search.glob } : {}),
    ...(search.prefix ? { prefix: search.prefix } : {}),
    ...(search.min !== undefined ? { min_size: search.min } : {}),
    ...(search.max !== undefined ? { max_size: search.max } : {}),
    ...(search.after ? { modified_after: asInstant(search.after) } : {}),
    ...(search.before ? { modified_before: asInstant(search.before) } : {}),
    ...(search.type ? { content_type: search.type } : {}),
    ...(search.metadata ? { metadata: search.metadata } : {}),
    ...(search.where ? { where: search.where } : {}),
    ...(search.sort && search.sort !== 'path' ? { sort: `${search.sort} ${search.descending ? 'desc' : 'asc'}` } : {}),
  };
}

/** A local time of a form as RFC 3339. */
function asInstant(local: string): string {
  const then = new Date(local);
  return Number.isNaN(then.getTime()) ? local : then.toISOString();
}

export function SearchPage() {
  const { repository, ref } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate({ from: '/r/$repository/$ref/search' });
  const narrow = useNarrow();
  const conditions = conditionsOf(search);
  const rows = usePagedRows<Schemas['ObjectStats']>(
    ['objects', repository, ref, 'search', conditions],
    (after, signal) =>
      answer(
        api.GET('/repositories/{repository}/refs/{ref}/objects/search', {
          params: { path: { repository, ref }, query: { ...conditions, after, amount: pageSize } },
          signal,
        }),
      ),
  );
  const close = () => void navigate({ search: { ...search, object: undefined } });
  const columns: Column<ObjectStats>[] = [
    {
      id: 'path',
      header: 'Path',
      width: 'minmax(200px, 3fr)',
      sort: 'path',
      cell: (item) => (
        <>
          <Icon name="file" />
          <Link to="." search={{ ...search, object: item.path }} className={styles.name}>
            <Name>{item.path}</Name>
          </Link>
        </>
      ),
    },
    {
      id: 'size',
      header: 'Size',
      width: '88px',
      numeric: true,
      sort: 'size',
      cell: (item) => <Bytes of={item.size_bytes} />,
    },
    {
      id: 'modified',
      header: 'Modified',
      width: '112px',
      wideOnly: true,
      sort: 'modified',
      cell: (item) => <Time at={item.mtime} />,
    },
    {
      id: 'folder',
      header: 'Folder',
      hideHeader: true,
      width: '96px',
      wideOnly: true,
      cell: (item) => (
        <Link
          to="/r/$repository/$ref/data"
          params={{ repository, ref }}
          search={{ path: folderOf(item.path) || undefined, object: item.path }}
        >
          In its folder
        </Link>
      ),
    },
  ];
  return (
    <div className="page-full">
      <div className="page-head">
        <h1>Search</h1>
        <RefPicker
          repository={repository}
          value={ref}
          label="Ref"
          onChange={(next) =>
            void navigate({ to: '/r/$repository/$ref/search', params: { repository, ref: next }, search })
          }
        />
        <span className="grow" />
        <Link to="/r/$repository/$ref/data" params={{ repository, ref }} search={{}} className={buttonClass()}>
          Back to the data
        </Link>
      </div>
      <Conditions
        key={JSON.stringify({ ...search, object: undefined })}
        search={search}
        onChange={(next) => void navigate({ search: next })}
      />
      {Object.keys(conditions).length === 0 ? (
        <EmptyState icon="search">Enter a pattern or another condition.</EmptyState>
      ) : rows.error && rows.loaded === 0 ? (
        <ErrorPanel error={rows.error} onRetry={rows.retry} />
      ) : rows.loaded === 0 && !rows.ended ? (
        <Progress label="Searching">Searching…</Progress>
      ) : (
        <div className={styles.body}>
          <DataTable
            label="Found objects"
            fill
            columns={columns}
            count={rows.count}
            row={rows.row}
            rowKey={(item) => item.path}
            onRange={rows.onRange}
            activeKey={search.object}
            onOpen={(item) => void navigate({ search: { ...search, object: item.path } })}
            sorting={{ by: search.sort ?? 'path', descending: search.descending === '1' }}
            onSort={(sorting) =>
              void navigate({
                search: {
                  ...search,
                  sort: sorting.by as ObjectSearch['sort'],
                  descending: sorting.descending ? '1' : undefined,
                },
              })
            }
            empty={<EmptyState icon="search">Nothing at {ref} meets these conditions.</EmptyState>}
          />
          {search.object !== undefined && !narrow && (
            <aside className={styles.panel} aria-label="Details">
              <ObjectPanel
                key={search.object}
                repository={repository}
                at={ref}
                path={search.object}
                refused="Open it in its folder to change it"
                onClose={close}
              />
            </aside>
          )}
        </div>
      )}
      {search.object !== undefined && narrow && (
        <Dialog title={nameOf(search.object)} isOpen onClose={close} side flush>
          <ObjectPanel
            key={search.object}
            repository={repository}
            at={ref}
            path={search.object}
            refused="Open it in its folder to change it"
            onClose={close}
            inDialog
          />
        </Dialog>
      )}
    </div>
  );
}

function Conditions({ search, onChange }: { search: ObjectSearch; onChange: (search: ObjectSearch) => void }) {
  const [now, setNow] = useState(search);
  const [more, setMore] = useState(
    Object.entries(search).some(
      ([name, value]) => value !== undefined && !['glob', 'prefix', 'object', 'sort', 'descending'].includes(name),
    ),
  );
  const text = (name: 'glob' | 'prefix' | 'after' | 'before' | 'type' | 'where') => ({
    value: now[name] ?? '',
    onChange: (value: string) => setNow({ ...now, [name]: value || undefined }),
  });
  const size = (name: 'min' | 'max') => ({
    value: now[name]?.toString() ?? '',
    onChange: (value: string) => setNow({ ...now, [name]: value === '' ? undefined : Number(value) }),
  });
  return (
    <form
      className={styles.conditions}
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        onChange({ ...now, object: undefined });
      }}
    >
      <TextField label="Path pattern" type="search" mono placeholder="**/*.png" {...text('glob')} />
      <TextField label="Below the prefix" mono {...text('prefix')} />
      {more && (
        <>
          <TextField label="At least bytes" type="number" {...size('min')} />
          <TextField label="At most bytes" type="number" {...size('max')} />
          <TextField label="Modified after" type="datetime-local" {...text('after')} />
          <TextField label="Modified before" type="datetime-local" {...text('before')} />
          <TextField label="Content type" mono placeholder="image/*" {...text('type')} />
          <TextField
            label="Metadata"
            mono
            placeholder="label=2"
            value={now.metadata?.join(' ') ?? ''}
            onChange={(value) => setNow({ ...now, metadata: value.trim() === '' ? undefined : value.split(' ') })}
          />
          <TextField label="Where" mono placeholder="loss < 0.02 and tag.stage = prod" {...text('where')} />
        </>
      )}
      <div className={styles.buttons}>
        <Button onPress={() => setMore(!more)}>{more ? 'Fewer conditions' : 'More conditions'}</Button>
        <Button type="submit" kind="primary" icon="search">
          Search
        </Button>
      </div>
    </form>
  );
}
