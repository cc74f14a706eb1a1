import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { Button } from '@/ui/button';
import { type Column, DataTable, type Sorting, useNarrow } from '@/ui/data_table';
import { shortRef } from '@/ui/format';
import { usePagedRows } from '@/ui/paged_rows';
import { EmptyState, ErrorPanel, Skeleton } from '@/ui/states';
import { Badge, Name, Time } from '@/ui/text';
import type { RunsSearch } from './runs_search';
import { listRuns, pageSize, type Standards, tableKey } from './run_queries';
import {
  isLive,
  isMetric,
  judge,
  type ListedRun,
  nameOf,
  requestedColumn,
  shownNumber,
  shownValue,
  signed,
  type Value,
  valueOf,
} from './run_values';
import { rangeOf, type Range, share } from './statistics';
import styles from './experiments.module.css';

interface RunsTableProps {
  repository: string;
  search: RunsSearch;
  columns: readonly string[];
  pinned: readonly string[];
  standards: Standards | undefined;
  selected: ReadonlySet<string>;
  onSelect: (ids: ReadonlySet<string>) => void;
  onSort: (order: string | undefined) => void;
  onOpen: (run: string) => void;
  onClear: () => void;
  /** Of the button for the first run. */
  record: Omit<NoRunsProps, 'repository'>;
}

interface NoRunsProps {
  repository: string;
  onRecord: () => void;
  refused: string | undefined;
}

/** Instead of runs, in each view, where there are none. */
export function NoRuns({ repository, onRecord, refused }: NoRunsProps) {
  return (
    <EmptyState
      icon="chart"
      command={`tarn exp log --repo ${repository} --ref COMMIT --param epochs=50 --metric accuracy=0.91`}
      action={
        <Button refused={refused} onPress={onRecord}>
          Record the first run…
        </Button>
      }
    >
      A run records the parameters and metrics of a commit. None is recorded here yet.
    </EmptyState>
  );
}

const stateKinds = { running: 'accent', finished: 'neutral', failed: 'removed', stale: 'waiting' } as const;

export function StateBadge({ state }: { state: ListedRun['state'] }) {
  return <Badge kind={stateKinds[state]}>{state}</Badge>;
}

const stateColumn: Column<ListedRun> = {
  id: 'state',
  header: 'State',
  width: '96px',
  cell: (run) => <StateBadge state={run.state} />,
};

const namedRun = 168;
/** Where the window is narrow, so that a metric fits beside it. */
const namedRunNarrow = 128;

/** Of one filter, page by page; only the chosen columns are fetched. */
export function RunsTable({
  repository,
  search,
  columns,
  pinned,
  standards,
  selected,
  onSelect,
  onSort,
  onOpen,
  onClear,
  record,
}: RunsTableProps) {
  const { experiment, branch, git_sha, name, tag, state, where, order } = search;
  const rows = usePagedRows<ListedRun>(
    tableKey(repository, search, columns),
    (after, signal) => listRuns(repository, search, columns, after, pageSize, signal),
    { changing: isLive },
  );
  const champion = standards?.champion ?? null;
  const narrow = useNarrow();

  const ranges = useMemo(() => {
    const out = new Map<string, Range>();
    for (const column of columns) {
      if (!isMetric(column)) continue;
      const values: number[] = [];
      for (let index = 0; index < rows.loaded; ++index) {
        const run = rows.row(index);
        if (run) values.push(valueOf(run, column)?.number ?? Number.NaN);
      }
      const range = rangeOf(values);
      if (range) out.set(column, range);
    }
    return out;
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the rows in reach change with these, the object in each render
  }, [columns, rows.loaded, rows.isLoading]);

  const shown: Column<ListedRun>[] = useMemo(() => {
    const value = (column: string): Column<ListedRun> => ({
      id: column,
      header: nameOf(column),
      width: isMetric(column) ? '184px' : '128px',
      numeric: isMetric(column),
      ...(isMetric(column) && !column.includes('@') ? { sort: column } : {}),
      cell: (run) => (
        <ValueCell value={valueOf(run, column)} column={column} range={ranges.get(column)} standards={standards} />
      ),
    });
    const ordered = [
      ...columns.filter((column) => pinned.includes(column)),
      ...columns.filter((column) => !pinned.includes(column)),
    ];
    const branch: Column<ListedRun> = {
      id: 'branch',
      header: 'Branch',
      width: '136px',
      cell: (run) =>
        run.branch ? (
          <Link
            to="/r/$repository/$ref/data"
            params={{ repository, ref: run.branch }}
            search={{}}
            style={{ minWidth: 0 }}
          >
            <Name>{run.branch}</Name>
          </Link>
        ) : (
          <span className="muted">none</span>
        ),
    };
    return [
      {
        id: 'run',
        header: 'Run',
        width: `${narrow ? namedRunNarrow : namedRun}px`,
        cell: (run) => (
          <>
            <Link
              to="/r/$repository/-/runs/$run"
              params={{ repository, run: run.id }}
              className={run.name ? '' : 'mono'}
              style={{ minWidth: 0 }}
              title={run.id}
            >
              {run.name ? <Name>{run.name}</Name> : run.id.slice(0, 12)}
            </Link>
            {champion && run.commit_id === champion.commit && <Badge kind="accent">@{champion.alias}</Badge>}
          </>
        ),
      },
      ...ordered.slice(0, pinned.length).map(value),
      ...(narrow ? [] : [stateColumn, branch]),
      {
        id: 'commit',
        header: 'Commit',
        width: '120px',
        wideOnly: true,
        cell: (run) =>
          run.commit_id ? (
            <Link to="/r/$repository/-/commits/$commit" params={{ repository, commit: run.commit_id }} className="mono">
              {shortRef(run.commit_id).slice(0, 10)}
            </Link>
          ) : (
            <span className="muted">none</span>
          ),
      },
      ...ordered.slice(pinned.length).map(value),
      ...(narrow ? [stateColumn, branch] : []),
      {
        id: 'tags',
        header: 'Tags',
        width: '136px',
        cell: (run) => (run.tags.length > 0 ? <Name>{run.tags.join(', ')}</Name> : null),
      },
      { id: 'experiment', header: 'Experiment', width: '120px', cell: (run) => <Name>{run.experiment}</Name> },
      {
        id: 'created',
        header: 'Started',
        width: '112px',
        sort: 'created',
        cell: (run) => <Time at={run.creation_date} />,
      },
    ];
  }, [columns, pinned, ranges, standards, champion, repository, narrow]);

  const sorting: Sorting = order
    ? { by: order.replace(/^-/, ''), descending: order.startsWith('-') }
    : { by: 'created', descending: true };
  if (rows.error && rows.loaded === 0) return <ErrorPanel error={rows.error} onRetry={rows.retry} />;
  if (rows.isLoading) return <Skeleton rows={8} />;
  const isFiltered = Boolean(experiment || branch || git_sha || name || tag?.length || state || where?.length);
  return (
    <>
      {champion && rows.loaded > 0 && (
        <ChampionStrip repository={repository} standards={standards!} columns={columns} />
      )}
      <DataTable
        label="Runs"
        fill
        pinned={1 + pinned.length}
        columns={shown}
        count={rows.count}
        row={rows.row}
        rowKey={(run) => run.id}
        onRange={rows.onRange}
        selected={selected}
        onSelect={onSelect}
        onOpen={(run) => onOpen(run.id)}
        sorting={sorting}
        onSort={(next) =>
          onSort(
            next.by === 'created' && next.descending
              ? undefined
              : `${next.descending ? '-' : ''}${requestedColumn(next.by)}`,
          )
        }
        empty={
          isFiltered ? (
            <EmptyState
              icon="filter"
              action={
                <button type="button" className={styles.textButton} onClick={onClear}>
                  Show all runs
                </button>
              }
            >
              No run meets these conditions.
            </EmptyState>
          ) : (
            <NoRuns repository={repository} {...record} />
          )
        }
      />
    </>
  );
}

/** The champion's values, which stay above the rows. */
function ChampionStrip({
  repository,
  standards,
  columns,
}: {
  repository: string;
  standards: Standards;
  columns: readonly string[];
}) {
  const champion = standards.champion!;
  const metrics = columns.filter((column) => champion.values.has(column));
  return (
    <div className={styles.champion} role="note" aria-label="Champion">
      <Badge kind="accent">@{champion.alias}</Badge>
      <Link to="/r/$repository/-/commits/$commit" params={{ repository, commit: champion.commit }} className="mono">
        {champion.commit.slice(0, 10)}
      </Link>
      {metrics.map((column) => (
        <span key={column}>
          <span className="muted">{nameOf(column)}</span> <strong>{shownNumber(champion.values.get(column)!)}</strong>
          {standards.goals.has(column) && (
            <span className="muted">
              {' '}
              {standards.goals.get(column) === 'max' ? '↑ higher is better' : '↓ lower is better'}
            </span>
          )}
        </span>
      ))}
      {metrics.length === 0 && <span className="muted">has none of these metrics</span>}
    </div>
  );
}

function ValueCell({
  value,
  column,
  range,
  standards,
}: {
  value: Value | undefined;
  column: string;
  range: Range | undefined;
  standards: Standards | undefined;
}) {
  if (value === undefined)
    return (
      <span className="muted" title="Not measured">
        –
      </span>
    );
  if (!isMetric(column)) return <Name mono>{value.text}</Name>;
  const width = range && Number.isFinite(value.number) ? `${(4 + 96 * share(value.number, range)).toFixed(0)}%` : '0';
  return (
    <span className={styles.metric} title={`${value.text} (${value.origin})`}>
      <Delta value={value.number} column={column} standards={standards} />
      <span className={styles.number}>{shownValue(value)}</span>
      <span className={styles.bar} aria-hidden="true">
        <span style={{ width }} />
      </span>
    </span>
  );
}

/** The distance from the champion: a word for screen readers, an arrow and a colour by the metric's goal. */
export function Delta({
  value,
  column,
  standards,
}: {
  value: number;
  column: string;
  standards: Standards | undefined;
}) {
  const champion = standards?.champion?.values.get(column);
  const verdict = judge(value, champion, standards?.goals.get(column));
  if (verdict === 'unknown' || verdict === 'equal') return null;
  const difference = Number.isFinite(value) && champion !== undefined ? signed(value - champion) : 'not finite';
  return (
    <span className={verdict === 'better' ? styles.better : styles.worse}>
      <span aria-hidden="true">{verdict === 'better' ? '▲' : '▼'}</span>
      {difference}
      <span className="visually-hidden">
        {' '}
        {verdict === 'better' ? 'better than the champion' : 'worse than the champion'}
      </span>
    </span>
  );
}
