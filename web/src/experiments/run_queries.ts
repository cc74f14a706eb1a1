import { queryOptions } from '@tanstack/react-query';
import { parse } from 'yaml';
import { answer, api, type Schemas } from '@/api/client';
import { permitted, resource } from '@/api/permissions';
import { queryClient } from '@/api/query_client';
import type { RunsSearch } from './runs_search';
import {
  columnsOf,
  type Goal,
  isLive,
  type ListedRun,
  metricColumn,
  paramColumn,
  requestedColumn,
  toNumber,
  valueOf,
} from './run_values';

export const pageSize = 200;
/** Runs that charts and groups are made of. */
export const chartedMax = 10_000;
const chartedPage = 1000;
/** Runs whose names are the first columns. */
const sampledRuns = 20;
const columnsMax = 200;
/** Runs of one request for curves. */
export const curvesOfOne = 50;
/** Points of one curve. */
const pointsMax = 10_000;
const pointsPage = 1000;

/** Between requests for runs and curves that still change. */
export const liveMs = 3000;

export const runsKey = (repository: string) => ['experiment-runs', repository] as const;

type Filter = Pick<RunsSearch, 'experiment' | 'branch' | 'git_sha' | 'name' | 'tag' | 'state' | 'where'>;
type TableSearch = Filter & Pick<RunsSearch, 'order'>;

const filterOf = (search: Filter) => ({
  ...(search.experiment ? { experiment: search.experiment } : {}),
  ...(search.branch ? { branch: search.branch } : {}),
  ...(search.git_sha ? { git_sha: search.git_sha } : {}),
  ...(search.name ? { name: search.name } : {}),
  ...(search.tag?.length ? { tag: search.tag } : {}),
  ...(search.state ? { state: search.state } : {}),
  ...(search.where?.length ? { where: search.where } : {}),
});

/** Only these columns are in the answer; all without them. */
export function listRuns(
  repository: string,
  search: TableSearch,
  columns: readonly string[] | undefined,
  after: string,
  amount: number,
  signal: AbortSignal,
) {
  const asked = columns && [...new Set(columns.map(requestedColumn))].slice(0, columnsMax);
  return answer(
    api.GET('/repositories/{repository}/runs', {
      params: {
        path: { repository },
        query: {
          ...filterOf(search),
          after,
          amount,
          ...(search.order ? { order: search.order } : {}),
          ...(asked ? { column: asked.length === 0 ? ['none'] : asked } : {}),
        },
      },
      signal,
    }),
  );
}

/** Contents of the newest runs: names of the first columns, and values of parameters. */
export const sampleQuery = (repository: string) =>
  queryOptions({
    queryKey: [...runsKey(repository), 'sample'],
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      const { results } = await listRuns(repository, {}, undefined, '', sampledRuns, signal);
      return { columns: columnsOf(results), runs: results };
    },
  });

/** Names of metrics and parameters of all runs, up to the server's limit: for choosing columns and completing conditions. */
export const columnNamesQuery = (repository: string) =>
  queryOptions({
    queryKey: [...runsKey(repository), 'columns'],
    staleTime: 60_000,
    queryFn: async ({ signal }) =>
      (await answer(api.GET('/repositories/{repository}/run_columns', { params: { path: { repository } }, signal })))
        .columns,
  });

/** The newest run of a branch with one column, or null. */
export const newestRunQuery = (repository: string, branch: string, column: string) =>
  queryOptions({
    queryKey: [...runsKey(repository), 'newest', branch, column],
    staleTime: 15_000,
    queryFn: async ({ signal }) => (await listRuns(repository, { branch }, [column], '', 1, signal)).results[0] ?? null,
  });

/** All runs of a filter, up to 10,000, with the columns alone. */
export const chartedRunsQuery = (repository: string, search: Filter, columns: readonly string[]) =>
  queryOptions({
    queryKey: [...runsKey(repository), 'charted', filterOf(search), [...columns].sort()],
    queryFn: async ({ signal }): Promise<{ runs: ListedRun[]; complete: boolean }> => {
      const runs: ListedRun[] = [];
      let after = '';
      while (runs.length < chartedMax) {
        const page = await listRuns(repository, search, columns, after, chartedPage, signal);
        runs.push(...page.results);
        if (!page.pagination.has_more) return { runs, complete: true };
        after = page.pagination.next_offset;
      }
      return { runs, complete: false };
    },
  });

export const runQuery = (repository: string, run: string) =>
  queryOptions<ListedRun>({
    queryKey: [...runsKey(repository), 'run', run],
    staleTime: 15_000,
    refetchInterval: ({ state: { data } }) => (data && isLive(data) ? liveMs : false),
    queryFn: async ({ signal }): Promise<ListedRun> => {
      const own = await answer(
        api.GET('/repositories/{repository}/runs/{run}', { params: { path: { repository, run } }, signal }),
      );
      if (own.commit_id === '') return { ...own, commit_metrics: [], commit_params: {} };
      const facts = await answer(
        api.GET('/repositories/{repository}/commits/{commitId}/metrics', {
          params: { path: { repository, commitId: own.commit_id } },
          signal,
        }),
      );
      const named = new Set(own.metrics.map((metric) => metricColumn(metric.name, metric.split)));
      // Of the commit its metadata and files; values of other runs of the commit are not this run's.
      const first = new Map<string, Schemas['CommitMetric']>();
      for (const metric of facts.metrics) {
        const column = metricColumn(metric.name, metric.split);
        if (
          (metric.origin === 'commit-metadata' || metric.origin.startsWith('file:')) &&
          !named.has(column) &&
          !first.has(column)
        )
          first.set(column, metric);
      }
      return { ...own, commit_metrics: [...first.values()], commit_params: facts.params };
    },
  });

interface NamedRuns {
  runs: ListedRun[];
  /** What is not there, or not shown. */
  warnings: string[];
}

/** Runs with all that was recorded of them, in one request for those that are not known yet. */
export const namedRunsQuery = (repository: string, ids: readonly string[]) =>
  queryOptions<NamedRuns>({
    queryKey: [...runsKey(repository), 'named', ids],
    staleTime: (query) => (query.state.data?.warnings.length === 0 ? Number.POSITIVE_INFINITY : 0),
    refetchInterval: ({ state: { data } }) => (data?.runs.some(isLive) ? liveMs : false),
    queryFn: async ({ signal, client }) => {
      const runs = new Map<string, ListedRun>();
      for (const id of ids) {
        const known = client.getQueryData(runQuery(repository, id).queryKey);
        if (known && !isLive(known)) runs.set(id, known);
      }
      const missing = ids.filter((id) => !runs.has(id));
      if (missing.length === 0) return { runs: [...runs.values()], warnings: [] };
      const { results, warnings } = await answer(
        api.GET('/repositories/{repository}/runs', {
          params: { path: { repository }, query: { id: missing } },
          signal,
        }),
      );
      for (const run of results) {
        runs.set(run.id, run);
        if (warnings.length === 0) client.setQueryData(runQuery(repository, run.id).queryKey, run);
      }
      return { runs: ids.flatMap((id) => runs.get(id) ?? []), warnings };
    },
  });

export interface Curve {
  steps: number[];
  values: number[];
  /** There are more points than were fetched. */
  isCut: boolean;
  /** These are the lowest and highest points of the parts of a longer curve. */
  isSampled: boolean;
}

const metricNames = (metric: string) => {
  const at = metric.lastIndexOf('@');
  return at > 0 ? { metric: metric.slice(0, at), split: metric.slice(at + 1) } : { metric };
};

/**
 * A metric's curves of up to 50 runs, by run: what they wrote while they ran, else those in files of their commits; runs
 * without a curve are absent. Only a curve of more than 1,000 points in a file takes a request of its own. `live`: some of the
 * runs are running.
 */
export const curvesQuery = (repository: string, runs: readonly string[], metric: string, live: boolean) =>
  queryOptions({
    queryKey: ['series', repository, runs, metric, live],
    staleTime: live ? 0 : Number.POSITIVE_INFINITY, // runs that have ended and files of commits do not change
    refetchInterval: live ? liveMs : false,
    queryFn: async ({ signal }): Promise<Map<string, Curve>> => {
      const out = new Map<string, Curve>();
      const names = metricNames(metric);
      const { results } = await answer(
        api.GET('/repositories/{repository}/series', {
          params: { path: { repository }, query: { ...names, run: [...runs], amount: pointsPage } },
          signal,
        }),
      );
      for (const { run, commit_id, points, next_offset, sampled } of results) {
        const curve: Curve = { steps: [], values: [], isCut: false, isSampled: sampled };
        const add = (some: readonly Schemas['MetricPoint'][]) => {
          for (const point of some) {
            curve.steps.push(point.step);
            curve.values.push(toNumber(point.value));
          }
        };
        add(points);
        let after = next_offset;
        while (after !== '' && curve.steps.length < pointsMax) {
          const page = await answer(
            api.GET('/repositories/{repository}/commits/{commitId}/series', {
              params: { path: { repository, commitId: commit_id }, query: { ...names, after, amount: pointsPage } },
              signal,
            }),
          );
          add(page.results);
          after = page.pagination.has_more ? page.pagination.next_offset : '';
        }
        curve.isCut = after !== '';
        out.set(run, curve);
      }
      return out;
    },
  });

export interface Champion {
  alias: string;
  policy: string;
  commit: string;
  values: Map<string, number>;
  /** By column. */
  params: Map<string, string>;
}

export interface Standards {
  goals: Map<string, Goal>;
  champion: Champion | null;
}

interface PolicyDocument {
  alias?: unknown;
  metrics?: unknown;
}

/** Goals of metrics by column, as the documents of gate policies say. */
export function goalsOf(documents: readonly string[]): Map<string, Goal> {
  const goals = new Map<string, Goal>();
  for (const document of documents) {
    let read: PolicyDocument | null;
    try {
      read = parse(document) as PolicyDocument | null;
    } catch {
      continue; // the server reads it; a dialect that this parser refuses costs the colours alone
    }
    if (!Array.isArray(read?.metrics)) continue;
    for (const rule of read.metrics as { name?: unknown; split?: unknown; goal?: unknown }[]) {
      if (typeof rule?.name !== 'string' || (rule.goal !== 'max' && rule.goal !== 'min')) continue;
      const column = metricColumn(rule.name, typeof rule.split === 'string' ? rule.split : undefined);
      if (!goals.has(column)) goals.set(column, rule.goal);
    }
  }
  return goals;
}

/** The goals of metrics by the gates, and the champion of the first gate that has one. */
export const standardsQuery = (repository: string) =>
  queryOptions({
    queryKey: ['standards', repository],
    staleTime: 30_000,
    queryFn: async ({ signal }): Promise<Standards> => {
      const path = { repository };
      const [listed, { data: aliases }] = await Promise.all([
        // Who may not read policies sees the table without them.
        permitted('branches:GetGatePolicy', resource.repository(repository), () =>
          answer(api.GET('/repositories/{repository}/policies', { params: { path, query: { amount: 100 } }, signal })),
        ).catch(() => undefined),
        api.GET('/repositories/{repository}/aliases', { params: { path, query: { amount: 1000 } }, signal }),
      ]);
      const policies = listed?.results ?? [];
      const goals = goalsOf(policies.map((policy) => policy.document ?? ''));
      const alias = aliases?.results.find((item) => item.policy !== undefined) ?? aliases?.results[0];
      if (!alias) return { goals, champion: null };
      const ref = `@${alias.id}`;
      const { data: compared } = await api.POST('/repositories/{repository}/compare', {
        params: { path },
        body: { candidates: [ref], baseline: ref, params: 'all', objects: false },
        signal,
      });
      // Of a champion these are the values of its promotion's evidence.
      const baseline = compared?.baseline as
        { metrics?: Record<string, Schemas['ComparedMetric']>; params?: Record<string, string> } | undefined;
      const values = new Map(
        Object.entries(baseline?.metrics ?? {}).map(([name, metric]) => [
          metricColumn(name),
          toNumber(metric.value as number | string),
        ]),
      );
      const params = new Map(Object.entries(baseline?.params ?? {}).map(([name, value]) => [paramColumn(name), value]));
      return {
        goals,
        champion: { alias: alias.id, policy: alias.policy ?? '', commit: alias.commit_id, values, params },
      };
    },
  });

/** The key of the pages of a table of runs, as usePagedRows has them. */
export const tableKey = (
  repository: string,
  { experiment, branch, git_sha, name, tag, state, where, order }: TableSearch,
  columns: readonly string[],
) =>
  [
    ...runsKey(repository),
    'table',
    { experiment, branch, git_sha, name, tag, state, where, order, columns: [...columns].sort() },
  ] as const;

/** What the table of runs waits for, down to its first rows. */
export async function prefetchRuns(repository: string, search: RunsSearch) {
  const standards = standardsQuery(repository);
  const sample = sampleQuery(repository);
  await Promise.all([queryClient.prefetchQuery(sample), queryClient.prefetchQuery(standards)]);
  const known = queryClient.getQueryData(sample.queryKey)?.columns;
  const goals = queryClient.getQueryData(standards.queryKey)?.goals;
  if (!known || !goals || (search.view ?? 'table') !== 'table' || search.group) return;
  const columns = search.column ?? defaultColumns(known, goals);
  void queryClient.prefetchQuery({
    queryKey: [...tableKey(repository, search, columns), 'page', ''],
    queryFn: ({ signal }) => listRuns(repository, search, columns, '', pageSize, signal),
  });
}

/** Columns of a page that names none: metrics with a goal first, at most four, and three parameters. */
export function defaultColumns(columns: readonly string[], goals: ReadonlyMap<string, Goal>): string[] {
  const metrics = columns.filter((column) => column.startsWith('metrics.'));
  const chosen = [
    ...metrics.filter((column) => goals.has(column)),
    ...metrics.filter((column) => !goals.has(column)),
  ].slice(0, 4);
  return [...chosen, ...columns.filter((column) => column.startsWith('params.')).slice(0, 3)];
}

/** Values of a parameter among these runs, in order. */
export function valuesAmong(runs: readonly ListedRun[], column: string): string[] {
  return [...new Set(runs.flatMap((run) => valueOf(run, column)?.text ?? []))].sort();
}

export { metricColumn, paramColumn };
