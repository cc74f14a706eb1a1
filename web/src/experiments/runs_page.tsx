import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { resource, useMay } from '@/api/permissions';
import { Button, IconButton } from '@/ui/button';
import { CopyAs, type Snippet } from '@/ui/copy_as';
import { useCurrentInView } from '@/ui/current_in_view';
import { Select } from '@/ui/field';
import { count, counted } from '@/ui/format';
import { pythonText, shellWord } from '@/ui/snippets';
import { ErrorPanel, Loaded, Skeleton } from '@/ui/states';
import { Name } from '@/ui/text';
import { Boxes } from './boxes';
import { ColumnsDialog } from './columns_dialog';
import { isRunState, type ListField, listFields, parseConditions } from './conditions';
import { Correlations } from './correlations';
import { Curves } from './curves';
import { FilterField } from './filter_field';
import { GroupedRuns } from './grouped_runs';
import { Parallel } from './parallel';
import { RecordRun } from './record_run';
import {
  chartedMax,
  chartedRunsQuery,
  columnNamesQuery,
  defaultColumns,
  namedRunsQuery,
  sampleQuery,
  standardsQuery,
  valuesAmong,
} from './run_queries';
import { inOrder, isMetric, isParam, type ListedRun, nameOf } from './run_values';
import type { RunsSearch, RunView } from './runs_search';
import { NoRuns, RunsTable } from './runs_table';
import { Scatter } from './scatter';
import { SideBySide } from './side_by_side';
import styles from './experiments.module.css';

const route = getRouteApi('/signed-in/r/$repository/-/runs');
/** Runs whose curves are drawn when none is selected. */
const curvesByDefault = 10;
const selectedMax = 200;

const views: { id: RunView; label: string; ofSelected: boolean }[] = [
  { id: 'table', label: 'Table', ofSelected: false },
  { id: 'side', label: 'Side by side', ofSelected: true },
  { id: 'curves', label: 'Curves', ofSelected: true },
  { id: 'parallel', label: 'Parallel', ofSelected: false },
  { id: 'scatter', label: 'Scatter', ofSelected: false },
  { id: 'box', label: 'Box plots', ofSelected: false },
  { id: 'correlation', label: 'Correlation', ofSelected: false },
];

export function RunsPage() {
  const { repository } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  const [choosing, setChoosing] = useState(false);
  const [recording, setRecording] = useState(false);
  const mayRecord = useMay('fs:CreateRun', resource.repository(repository));
  const sample = useQuery(sampleQuery(repository));
  const standards = useQuery(standardsQuery(repository));
  // Only those who look for a name need more than those of the first columns.
  const [isLooking, setLooking] = useState(false);
  const names = useQuery({ ...columnNamesQuery(repository), enabled: isLooking || choosing });
  const known = useMemo(
    () => inOrder([...(sample.data?.columns ?? []), ...(names.data ?? [])]),
    [sample.data, names.data],
  );
  const chosen = search.column;
  const goals = standards.data?.goals;
  const columns = useMemo(
    () => chosen ?? (sample.data && goals ? defaultColumns(sample.data.columns, goals) : undefined),
    [chosen, sample.data, goals],
  );
  const pinned = useMemo(() => (search.pin ?? []).filter((column) => columns?.includes(column)), [search.pin, columns]);
  const selected = useMemo(() => new Set(search.run ?? []), [search.run]);
  const view = search.view ?? 'table';
  const record = { onRecord: () => setRecording(true), refused: mayRecord.refused };
  const tabs = useCurrentInView<HTMLDivElement>(view);

  const change = (next: Partial<RunsSearch>, replace = false) =>
    void navigate({ to: '/r/$repository/-/runs', params: { repository }, search: { ...search, ...next }, replace });
  const addCondition = (text: string): string | undefined => {
    const parsed = parseConditions(text);
    if ('why' in parsed) return parsed.why;
    const next: RunsSearch = {};
    for (const condition of parsed) {
      if (condition.kind === 'where')
        next.where = [...new Set([...(next.where ?? search.where ?? []), condition.text])];
      else if (condition.field === 'tag') next.tag = [...new Set([...(next.tag ?? search.tag ?? []), condition.value])];
      else if (condition.field !== 'state') next[condition.field] = condition.value;
      else if (isRunState(condition.value)) next.state = condition.value;
    }
    change(next);
    return undefined;
  };
  const clear = () =>
    change({ where: undefined, ...Object.fromEntries(listFields.map((field) => [field, undefined])) });
  const fields = listFields.flatMap((field): [ListField, string][] =>
    field !== 'tag' && search[field] ? [[field, search[field]]] : [],
  );

  if (sample.error)
    return (
      <div className="page">
        <h1>Runs</h1>
        <ErrorPanel error={sample.error} onRetry={() => void sample.refetch()} />
      </div>
    );
  return (
    <div className="page-full">
      <div className="page-head">
        <h1 className="grow">Runs</h1>
        <Button icon="chart" onPress={() => setChoosing(true)}>
          Columns
        </Button>
        <Button icon="plus" refused={mayRecord.refused} onPress={() => setRecording(true)}>
          Record a run…
        </Button>
        <CopyAs snippets={snippetsOf(repository, search, columns ?? [])} />
      </div>
      <div className={styles.bar2} onFocus={() => setLooking(true)}>
        <FilterField
          columns={known}
          values={(column) => valuesAmong(sample.data?.runs ?? [], column)}
          onAdd={addCondition}
        />
        {known.some(isParam) && (
          <div className={styles.group}>
            <Select
              label="Group by"
              hideLabel
              value={search.group ?? ''}
              onChange={(value) => change({ group: value || undefined, view: undefined })}
              options={[
                { value: '', label: 'Not grouped' },
                ...[...new Set([...known.filter(isParam), ...(search.group ? [search.group] : [])])].map((column) => ({
                  value: column,
                  label: `By ${nameOf(column)}`,
                })),
              ]}
            />
          </div>
        )}
        {fields.map(([field, value]) => (
          <Chip key={field} text={`${field} = ${value}`} onRemove={() => change({ [field]: undefined })} />
        ))}
        {(search.tag ?? []).map((tag) => (
          <Chip
            key={`tag ${tag}`}
            text={`tag = ${tag}`}
            onRemove={() => change({ tag: search.tag?.filter((item) => item !== tag) })}
          />
        ))}
        {(search.where ?? []).map((condition) => (
          <Chip
            key={condition}
            text={condition}
            onRemove={() => change({ where: search.where?.filter((item) => item !== condition) })}
          />
        ))}
      </div>
      <div className={styles.tabRow}>
        <div ref={tabs} className={styles.tabs} role="tablist" aria-label="Views">
          {views.map((item) => (
            <button
              key={item.id}
              type="button"
              role="tab"
              aria-selected={view === item.id}
              className={view === item.id ? styles.tabAt : styles.tab}
              onClick={() => change({ view: item.id === 'table' ? undefined : item.id })}
            >
              {item.label}
              {item.ofSelected && selected.size > 0 ? ` (${count(selected.size)})` : ''}
            </button>
          ))}
        </div>
        <span className="grow" />
        {selected.size > 0 && (
          <>
            <span className="muted" role="status">
              {counted(selected.size, 'run')} selected
            </span>
            {view === 'table' && (
              <Button kind="primary" onPress={() => change({ view: 'side' })}>
                Compare
              </Button>
            )}
            <Button kind="quiet" onPress={() => change({ run: undefined })}>
              Select none
            </Button>
          </>
        )}
      </div>
      <div
        role="tabpanel"
        aria-label={views.find((item) => item.id === view)!.label}
        className={view === 'table' && !search.group ? styles.fill : styles.scrollPanel}
      >
        {!columns ? (
          <Skeleton rows={8} />
        ) : view === 'table' && !search.group ? (
          <RunsTable
            repository={repository}
            search={search}
            columns={columns}
            pinned={pinned}
            standards={standards.data}
            selected={selected}
            onSelect={(ids) => change({ run: ids.size === 0 ? undefined : [...ids].slice(0, selectedMax) }, true)}
            onSort={(order) => change({ order })}
            onClear={clear}
            record={record}
            onOpen={(run) => void navigate({ to: '/r/$repository/-/runs/$run', params: { repository, run } })}
          />
        ) : sample.data?.runs.length === 0 && selected.size === 0 ? (
          <NoRuns repository={repository} {...record} />
        ) : view === 'side' || view === 'curves' ? (
          <OfSelected
            repository={repository}
            ids={[...selected]}
            search={search}
            change={change}
            standards={standards.data}
            columns={known}
            view={view}
          />
        ) : (
          <OfAll
            repository={repository}
            search={search}
            columns={columns}
            known={known}
            view={view}
            change={change}
            onNarrow={(conditions) => change({ where: [...new Set([...(search.where ?? []), ...conditions])] })}
          />
        )}
      </div>
      {recording && <RecordRun repository={repository} onClose={() => setRecording(false)} />}
      {choosing && columns && (
        <ColumnsDialog
          known={known}
          columns={columns}
          pinned={pinned}
          onClose={() => setChoosing(false)}
          onChange={(next, pins) =>
            change(
              {
                column: next.length === 0 ? ['none'] : next.filter((column) => column !== 'none'),
                pin: pins.length === 0 ? undefined : pins,
              },
              true,
            )
          }
        />
      )}
    </div>
  );
}

function Chip({ text, onRemove }: { text: string; onRemove: () => void }) {
  return (
    <span className={styles.chip}>
      <Name mono>{text}</Name>
      <IconButton icon="close" label={`Remove ${text}`} onPress={onRemove} />
    </span>
  );
}

interface ViewProps {
  repository: string;
  search: RunsSearch;
  columns: readonly string[];
  change: (next: Partial<RunsSearch>) => void;
}

/** Views of the selected runs with all that was recorded of them; curves of the newest without a selection. */
function OfSelected({
  repository,
  ids,
  search,
  change,
  standards,
  columns,
  view,
}: ViewProps & { ids: string[]; view: 'side' | 'curves'; standards: Parameters<typeof SideBySide>[0]['standards'] }) {
  const newest = useQuery({
    ...chartedRunsQuery(repository, search, columns),
    enabled: view === 'curves' && ids.length === 0,
  });
  const named = useQuery({
    ...namedRunsQuery(repository, ids.slice(0, selectedMax)),
    enabled: ids.length > 0,
    placeholderData: keepPreviousData,
  });
  const runs = useMemo(
    () =>
      ids.length > 0
        ? (named.data?.runs.filter((run) => ids.includes(run.id)) ?? [])
        : (newest.data?.runs.slice(0, curvesByDefault) ?? []),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the ids as a text: each render has another array of them
    [ids.join(), named.data, newest.data],
  );
  if (named.error && ids.length > 0) return <ErrorPanel error={named.error} onRetry={() => void named.refetch()} />;
  if (named.isLoading || newest.isLoading) return <Skeleton rows={8} />;
  const warnings =
    ids.length > 0 && named.data && named.data.warnings.length > 0 ? (
      <ul role="status">
        {named.data.warnings.map((warning) => (
          <li key={warning}>{warning}</li>
        ))}
      </ul>
    ) : null;
  if (view === 'side') {
    return (
      <>
        {warnings}
        <SideBySide
          repository={repository}
          runs={runs}
          standards={standards}
          showEqual={search.equal === true}
          onShowEqual={(show) => change({ equal: show || undefined })}
          onRemove={(run) => {
            const left = ids.filter((id) => id !== run);
            change({ run: left.length === 0 ? undefined : left });
          }}
        />
      </>
    );
  }
  return (
    <div className="stack-tight">
      {warnings}
      {ids.length === 0 && runs.length > 0 && (
        <p className="muted">Of the newest {counted(runs.length, 'run')}; select others in the table.</p>
      )}
      <Curves repository={repository} runs={runs} columns={columns} search={search} onSearch={change} />
    </div>
  );
}

/** Views of all runs of the filter. Parameters of the sample are fetched where a view looks for one. */
function OfAll({
  repository,
  search,
  columns,
  known,
  view,
  change,
  onNarrow,
}: ViewProps & { known: readonly string[]; view: RunView; onNarrow: (conditions: string[]) => void }) {
  const wantsParams = view === 'correlation' || view === 'box';
  const sample = useQuery(sampleQuery(repository)).data?.runs ?? [];
  const metric = search.metric ?? columns.find(isMetric) ?? known.find(isMetric);
  // A parameter that is the same everywhere shows nothing.
  const params = known.filter(isParam);
  const x = search.x ?? params.find((column) => valuesAmong(sample, column).length > 1) ?? params[0];
  const y = search.y ?? metric;
  const fetched = [
    ...new Set([
      ...columns,
      ...(wantsParams ? known.filter(isParam) : []),
      ...[metric, x, y, search.group].filter((column) => column !== undefined),
    ]),
  ];
  const runs = useQuery(chartedRunsQuery(repository, search, fetched));
  return (
    <Loaded query={runs} rows={8}>
      {(data: { runs: ListedRun[]; complete: boolean }) => (
        <div className="stack-tight">
          {!data.complete && <p role="status">The newest {count(chartedMax)} runs; a filter reaches the others.</p>}
          {search.group && view === 'table' ? (
            <GroupedRuns
              runs={data.runs}
              columns={columns}
              by={search.group}
              onOpen={(value) =>
                change({ group: undefined, where: [...(search.where ?? []), `${search.group}=${value}`] })
              }
            />
          ) : view === 'parallel' ? (
            <Parallel runs={data.runs} columns={columns} by={metric} onNarrow={onNarrow} />
          ) : metric === undefined || x === undefined || y === undefined ? (
            <p className="muted">These runs have no metric, or no parameter.</p>
          ) : view === 'scatter' ? (
            <Scatter
              repository={repository}
              runs={data.runs}
              columns={[...new Set([...known, ...columns])]}
              x={x}
              y={y}
              onSearch={change}
            />
          ) : view === 'box' ? (
            <Boxes
              runs={data.runs}
              columns={[...new Set([...known, ...columns])]}
              metric={metric}
              by={isParam(x) ? x : (known.find(isParam) ?? x)}
              onSearch={change}
            />
          ) : (
            <Correlations
              runs={data.runs}
              columns={[...new Set([...known, ...columns])]}
              metric={metric}
              onSearch={change}
            />
          )}
        </div>
      )}
    </Loaded>
  );
}

function snippetsOf(repository: string, search: RunsSearch, columns: readonly string[]): Snippet[] {
  const words = ['tarn', 'exp', 'ls', '--repo', repository];
  if (search.experiment) words.push('--experiment', search.experiment);
  if (search.branch) words.push('--of-branch', search.branch);
  if (search.git_sha) words.push('--git-sha', search.git_sha);
  if (search.name) words.push('--name', search.name);
  for (const tag of search.tag ?? []) words.push('--tag', tag);
  if (search.state) words.push('--state', search.state);
  for (const condition of search.where ?? []) words.push('--where', condition);
  if (search.order) words.push('--sort', search.order.replace('metrics.', ''));
  const query = new URLSearchParams([
    ...(search.experiment ? [['experiment', search.experiment]] : []),
    ...(search.branch ? [['branch', search.branch]] : []),
    ...(search.name ? [['name', search.name]] : []),
    ...(search.tag ?? []).map((tag) => ['tag', tag]),
    ...(search.state ? [['state', search.state]] : []),
    ...(search.where ?? []).map((condition) => ['where', condition]),
    ...(search.order ? [['order', search.order]] : []),
    ...columns.map((column) => ['column', column]),
  ] as string[][]);
  const url = `${location.origin}/api/v1/repositories/${encodeURIComponent(repository)}/runs`;
  return [
    { label: 'tarn', text: words.map(shellWord).join(' ') },
    { label: 'curl', text: `curl -u "$TARN_ACCESS_KEY:$TARN_SECRET_KEY" ${shellWord(`${url}?${query}`)}` },
    {
      label: 'Python',
      text: `requests.get(${pythonText(`${url}?${query}`)}, auth=(ACCESS_KEY, SECRET_KEY)).json()["results"]`,
    },
    { label: 'Link', text: location.href },
  ];
}
