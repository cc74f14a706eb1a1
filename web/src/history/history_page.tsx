import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { UncommittedBar } from '@/changes/uncommitted_bar';
import { branchQuery, refsQuery } from '@/refs/ref_queries';
import { Button } from '@/ui/button';
import { CopyAs } from '@/ui/copy_as';
import { type Column, DataTable, useNarrow } from '@/ui/data_table';
import { Checkbox, TextField } from '@/ui/field';
import { RefPicker } from '@/ui/ref_picker';
import { shellWord, tarnUri } from '@/ui/snippets';
import { EmptyState, ErrorPanel, Skeleton } from '@/ui/states';
import { Badge, Name, Time } from '@/ui/text';
import { Blame } from './blame';
import { authorOf, metadataOf } from './commit_facts';
import { graphRows, laneCount } from './graph';
import { GraphCell, graphWidth } from './graph_cell';
import { type Commit, isFiltered, type LogFilter, logQuery } from './log_queries';
import styles from './history.module.css';

const route = getRouteApi('/signed-in/r/$repository/$ref/history');
/** Rows before the end at which the next page is asked for. */
const ahead = 50;

/** The log of a ref with its graph, or who changed what is below a prefix last. */
export function HistoryPage() {
  const { repository, ref } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  const branch = useQuery(branchQuery(repository, ref));
  const blame = search.view === 'blame';
  return (
    <div className="page-full">
      <div className="page-head">
        <h1>{blame ? 'Last changes' : 'History'}</h1>
        <RefPicker
          repository={repository}
          value={ref}
          label="Ref"
          onChange={(next) =>
            void navigate({ to: '/r/$repository/$ref/history', params: { repository, ref: next }, search })
          }
        />
        <span className="grow" />
        <CopyAs
          snippets={[
            { label: 'tarn log', text: `tarn log ${shellWord(tarnUri(repository, ref).slice(0, -1))}` },
            { label: 'tarn annotate', text: `tarn annotate ${shellWord(tarnUri(repository, ref))}` },
          ]}
        />
        <Button onPress={() => void navigate({ to: '.', search: blame ? {} : { view: 'blame' } })}>
          {blame ? 'Show the log' : 'Who changed what last'}
        </Button>
      </div>
      {blame ? (
        <Blame
          repository={repository}
          at={ref}
          prefix={search.path ?? ''}
          onPrefix={(path) => void navigate({ to: '.', search: { view: 'blame', path: path || undefined } })}
        />
      ) : (
        <Log repository={repository} at={ref} filter={search} />
      )}
      {branch.data && <UncommittedBar repository={repository} branch={ref} />}
    </div>
  );
}

function Log({
  repository,
  at,
  filter,
}: {
  repository: string;
  at: string;
  filter: LogFilter & { view?: 'blame' | undefined };
}) {
  const { view: _, ...wanted } = filter;
  const navigate = useNavigate();
  const narrow = useNarrow();
  const [filtering, setFiltering] = useState(isFiltered(wanted));
  const log = useInfiniteQuery(logQuery(repository, at, wanted));
  const refs = useQuery(refsQuery(repository));
  const commits = useMemo(() => log.data?.pages.flatMap((page) => page.results) ?? [], [log.data]);
  const graphed = !isFiltered(wanted);
  const graph = useMemo(() => (graphed ? graphRows(commits) : []), [graphed, commits]);
  const lanes = useMemo(() => laneCount(graph), [graph]);
  const named = useMemo(() => {
    const out = new Map<string, string[]>();
    for (const ref of refs.data ?? []) out.set(ref.commit, [...(out.get(ref.commit) ?? []), ref.name]);
    return out;
  }, [refs.data]);
  const index = useMemo(() => new Map(commits.map((commit, row) => [commit.id, row])), [commits]);
  const columns = useMemo(
    (): Column<Commit>[] => [
      ...(graphed
        ? [
            {
              id: 'graph',
              header: 'Graph',
              width: `${Math.max(64, graphWidth(lanes) + 12)}px`,
              cell: (commit: Commit) => {
                const row = graph[index.get(commit.id)!];
                return row && <GraphCell row={row} lanes={lanes} merge={commit.parents.length > 1} />;
              },
            },
          ]
        : []),
      {
        id: 'message',
        header: 'Message',
        width: 'minmax(140px, 3fr)',
        cell: (commit) => (
          <>
            <Link
              to="/r/$repository/-/commits/$commit"
              params={{ repository, commit: commit.id }}
              search={{}}
              className={styles.message}
              title={commit.message}
            >
              {commit.message.split('\n', 1)[0] || 'no message'}
            </Link>
            {named.has(commit.id) && (
              <span className={styles.refs}>
                {named
                  .get(commit.id)!
                  .slice(0, narrow ? 1 : 3)
                  .map((name) => (
                    <Badge key={name} kind="accent">
                      {name}
                    </Badge>
                  ))}
              </span>
            )}
          </>
        ),
      },
      {
        id: 'metadata',
        header: 'Metadata',
        width: 'minmax(80px, 1fr)',
        wideOnly: true,
        cell: (commit) => {
          const text = metadataOf(commit)
            .given.map(([key, value]) => `${key}=${value}`)
            .join(' ');
          return (
            <span className={`muted ${styles.message}`} title={text}>
              {text}
            </span>
          );
        },
      },
      {
        id: 'author',
        header: 'Author',
        width: 'minmax(80px, 160px)',
        wideOnly: true,
        cell: (commit) => <Name>{authorOf(commit)}</Name>,
      },
      { id: 'time', header: 'Time', width: '96px', cell: (commit) => <Time at={commit.creation_date} /> },
      {
        id: 'id',
        header: 'Commit',
        width: '128px',
        wideOnly: true,
        cell: (commit) => <code>{commit.id.slice(0, 12)}</code>,
      },
    ],
    [graphed, graph, lanes, index, named, narrow, repository],
  );
  const set = (change: LogFilter) => void navigate({ to: '.', search: { ...wanted, ...change }, replace: true });
  const textField = (name: 'path' | 'author' | 'message' | 'metadata', label: string, placeholder: string) => (
    <TextField
      label={label}
      value={wanted[name] ?? ''}
      placeholder={placeholder}
      onChange={(value) => set({ [name]: value || undefined })}
    />
  );
  return (
    <>
      <div>
        <Button
          icon="filter"
          aria-expanded={filtering}
          onPress={() => {
            if (filtering) void navigate({ to: '.', search: {} });
            setFiltering(!filtering);
          }}
        >
          {filtering ? 'Without filter' : 'Filter'}
        </Button>
      </div>
      {filtering && (
        <div className={styles.filters} role="search" aria-label="Filter commits">
          {textField('path', 'Path', 'images/2/ or a key')}
          {textField('author', 'Author', 'user')}
          {textField('message', 'Message has', 'text')}
          {textField('metadata', 'Metadata', 'run=7 seed')}
          <DateField label="Since" value={wanted.since} onChange={(since) => set({ since })} />
          <DateField label="Until" value={wanted.until} onChange={(until) => set({ until })} />
          <Checkbox checked={wanted.first === true} onChange={(first) => set({ first: first || undefined })}>
            First parents only
          </Checkbox>
        </div>
      )}
      {log.error && commits.length === 0 ? (
        <ErrorPanel error={log.error} onRetry={() => void log.refetch()} />
      ) : !log.data ? (
        <Skeleton rows={8} />
      ) : (
        <DataTable
          label="Commits"
          fill
          columns={columns}
          count={commits.length}
          row={(row) => commits[row]}
          rowKey={(commit) => commit.id}
          onRange={(_first, last) => {
            if (last + ahead >= commits.length && log.hasNextPage && !log.isFetching) void log.fetchNextPage();
          }}
          onOpen={(commit) =>
            void navigate({
              to: '/r/$repository/-/commits/$commit',
              params: { repository, commit: commit.id },
              search: {},
            })
          }
          empty={
            <EmptyState
              icon="search"
              action={<Button onPress={() => void navigate({ to: '.', search: {} })}>Show all commits</Button>}
            >
              No commit matches the filter.
            </EmptyState>
          }
        />
      )}
    </>
  );
}

function DateField({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
}) {
  return (
    <TextField
      label={label}
      value={value ?? ''}
      type={'date' as 'text'}
      onChange={(day) => onChange(day || undefined)}
    />
  );
}
