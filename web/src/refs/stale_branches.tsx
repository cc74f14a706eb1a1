import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api, type Schemas } from '@/api/client';
import { cleanupQuery } from '@/settings/settings_queries';
import { Button, buttonClass } from '@/ui/button';
import { CopyAs } from '@/ui/copy_as';
import { type Column, DataTable } from '@/ui/data_table';
import { TextField } from '@/ui/field';
import { count, counted } from '@/ui/format';
import { usePagedRows } from '@/ui/paged_rows';
import { shellWord } from '@/ui/snippets';
import { EmptyState, ErrorPanel, Skeleton } from '@/ui/states';
import { Badge, Name, Time } from '@/ui/text';
import { KindTabs } from './kind_tabs';
import { DeleteRefs } from './ref_dialogs';
import { type NamedRef, staleDaysMax } from './ref_queries';
import styles from './refs.module.css';

type Stale = Schemas['StaleBranch'];

const route = getRouteApi('/signed-in/r/$repository/-/branches');
const pageSize = 100;
const daysWithoutRules = 30;

/** An empty page may be followed by others: branches in use are skipped, so the pages are read on until one has rows. */
async function listStale(repository: string, days: number | undefined, after: string, signal: AbortSignal) {
  let from = after;
  for (;;) {
    const page = await answer(
      api.GET('/repositories/{repository}/stale_branches', {
        params: {
          path: { repository },
          query: { after: from, amount: pageSize, ...(days === undefined ? {} : { days }) },
        },
        signal,
      }),
    );
    if (page.results.length > 0 || !page.pagination.has_more) return page;
    from = page.pagination.next_offset;
  }
}

/** Branches that nobody commits to: which are deleted, when and why, and why the others are kept. Looking changes nothing. */
export function StaleBranches() {
  const { repository } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [seen] = useState(() => new Map<string, Stale>());
  const [deleting, setDeleting] = useState<readonly NamedRef[]>([]);
  const rules = useQuery(cleanupQuery(repository));
  const days = search.days;
  const [typed, setTyped] = useState(days === undefined ? '' : String(days));
  const wrong =
    typed.trim() !== '' && !(Number.isInteger(Number(typed)) && Number(typed) >= 0 && Number(typed) <= staleDaysMax);
  const changeDays = (value: string) => {
    setTyped(value);
    setSelected(new Set());
    void navigate({
      to: '.',
      search: { ...search, days: value.trim() === '' ? undefined : Number(value) },
      replace: true,
    });
  };
  const rows = usePagedRows<Stale>(['refs', repository, 'stale', days ?? ''], (after, signal) =>
    listStale(repository, days, after, signal),
  );
  const row = (index: number) => {
    const item = rows.row(index);
    if (item) seen.set(item.id, item);
    return item;
  };
  const ruleCount = rules.data?.rules.length;
  const command = `tarn branch stale ${shellWord(repository)}${days === undefined ? '' : ` --days ${days}`}`;
  const columns: Column<Stale>[] = [
    {
      id: 'name',
      header: 'Branch',
      width: 'minmax(140px, 2fr)',
      cell: (item) => (
        <Link to="/r/$repository/$ref/data" params={{ repository, ref: item.id }} search={{}} className={styles.name}>
          <Name>{item.id}</Name>
        </Link>
      ),
    },
    {
      id: 'active',
      header: 'Last commit',
      width: '112px',
      wideOnly: true,
      cell: (item) => <Time at={item.active_at} />,
    },
    {
      id: 'why',
      header: 'Stale because',
      width: 'minmax(120px, 1fr)',
      wideOnly: true,
      cell: (item) => (
        <span className={styles.reason} title={reasonsOf(item)}>
          {reasonsOf(item)}
        </span>
      ),
    },
    {
      id: 'rule',
      header: 'Rule',
      width: 'minmax(72px, 1fr)',
      wideOnly: true,
      cell: (item) => (item.rule ? <Name mono>{item.rule}</Name> : <span className="muted">none</span>),
    },
    { id: 'fate', header: 'What happens', width: 'minmax(150px, 2fr)', cell: (item) => <Fate of={item} /> },
  ];
  return (
    <div className="page-full">
      <div className="page-head">
        <h1 className="grow">Branches, tags and aliases</h1>
        {selected.size > 0 && (
          <Button
            kind="danger"
            icon="trash"
            onPress={() =>
              setDeleting(
                [...selected].flatMap((name): NamedRef[] => {
                  const item = seen.get(name);
                  return item ? [{ kind: 'branch', name, commit: item.commit_id }] : [];
                }),
              )
            }
          >
            Delete {count(selected.size)}…
          </Button>
        )}
        <Link
          to="/r/$repository/-/settings"
          params={{ repository }}
          search={{ section: 'branches' }}
          className={buttonClass()}
        >
          Rules
        </Link>
        <CopyAs snippets={[{ label: 'tarn', text: command }]} />
      </div>
      <KindTabs repository={repository} kind="stale" q={undefined} />
      <div className={styles.staleHead}>
        <div className={styles.staleDays}>
          <TextField
            label="Days without a commit"
            type="number"
            value={typed}
            placeholder={ruleCount ? 'by the rules' : String(daysWithoutRules)}
            onChange={changeDays}
            {...(wrong ? { help: `0 to ${count(staleDaysMax)} whole days` } : {})}
          />
        </div>
        <p className="muted" role="status">
          {ruleCount === undefined
            ? ''
            : ruleCount === 0
              ? 'No rules are set: no branch is deleted by itself.'
              : `${counted(ruleCount, 'rule')}, applied once an hour; a commit takes a deletion back.`}
        </p>
      </div>
      {rows.error && rows.loaded === 0 ? (
        <ErrorPanel error={rows.error} onRetry={rows.retry} />
      ) : rows.isLoading ? (
        <Skeleton rows={8} />
      ) : (
        <DataTable
          label="Stale branches"
          fill
          columns={columns}
          count={rows.count}
          row={row}
          rowKey={(item) => item.id}
          onRange={rows.onRange}
          selected={selected}
          onSelect={setSelected}
          selectable={(item) => item.kept_because === undefined}
          onOpen={(item) =>
            void navigate({ to: '/r/$repository/$ref/history', params: { repository, ref: item.id }, search: {} })
          }
          empty={
            <EmptyState icon="branch" command={command}>
              No branch is stale
              {days === undefined && ruleCount === 0 ? `: each had a commit within ${daysWithoutRules} days` : ''}.
            </EmptyState>
          }
        />
      )}
      {deleting.length > 0 && (
        <DeleteRefs
          repository={repository}
          refs={deleting}
          unused
          onClose={() => setDeleting([])}
          onDone={() => setSelected(new Set())}
        />
      )}
    </div>
  );
}

function reasonsOf(item: Stale): string {
  const idle = `no commit for ${counted(item.idle_days, 'day')}`;
  const reasons = item.reasons.map((reason) => (reason === 'lost_promotion' ? 'lost a promotion' : idle));
  return (reasons.length === 0 ? [idle] : reasons).join(', ');
}

function Fate({ of }: { of: Stale }) {
  if (of.kept_because !== undefined)
    return (
      <span className={styles.fate}>
        <Badge kind="neutral">kept</Badge>{' '}
        <span className={styles.reason} title={of.kept_because}>
          {of.kept_because}
        </span>
      </span>
    );
  if (of.deletes_at === undefined) return <span className="muted">no rule deletes it</span>;
  return (
    <span className={styles.fate}>
      <Badge kind="removed">{of.announced ? 'announced' : 'due'}</Badge>{' '}
      <span>
        deleted <Time at={of.deletes_at} />
      </span>
    </span>
  );
}
