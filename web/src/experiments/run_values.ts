// Values of runs by column: "metrics.NAME", "metrics.NAME@SPLIT" or "params.NAME".
import type { Schemas } from '@/api/client';

export type ListedRun = Schemas['ListedRun'];
export type Goal = 'max' | 'min';

/** Whether the run may still change. */
export const isLive = (run: Pick<ListedRun, 'state'>) => run.state === 'running' || run.state === 'stale';

export interface Value {
  text: string;
  /** NaN if it is no number. */
  number: number;
  /** Where it comes from: "run", "commit-metadata", "file:PATH". */
  origin: string;
}

const metricsPrefix = 'metrics.';
const paramsPrefix = 'params.';

export const isMetric = (column: string) => column.startsWith(metricsPrefix);
export const isParam = (column: string) => column.startsWith(paramsPrefix);
export const nameOf = (column: string) => column.slice(column.indexOf('.') + 1);
export const metricColumn = (name: string, split?: string) => `${metricsPrefix}${name}${split ? `@${split}` : ''}`;
export const paramColumn = (name: string) => `${paramsPrefix}${name}`;

export function toNumber(value: number | string): number {
  if (typeof value === 'number') return value;
  return value.trim() === '' ? Number.NaN : Number(value);
}

/** The columns that a list must request so that the column has values: splits come with their metric. */
export function requestedColumn(column: string): string {
  const at = column.lastIndexOf('@');
  return isMetric(column) && at > 0 ? column.slice(0, at) : column;
}

const cache = new WeakMap<ListedRun, Map<string, Value>>();

/** All values of a run; its own go before those of its commit. */
export function valuesOf(run: ListedRun): Map<string, Value> {
  const known = cache.get(run);
  if (known) return known;
  const out = new Map<string, Value>();
  const add = (column: string, value: number | string, origin: string) => {
    if (!out.has(column)) out.set(column, { text: String(value), number: toNumber(value), origin });
  };
  for (const metric of run.metrics) add(metricColumn(metric.name, metric.split), metric.value, 'run');
  for (const metric of run.commit_metrics) add(metricColumn(metric.name, metric.split), metric.value, metric.origin);
  for (const [name, value] of Object.entries(run.params)) add(paramColumn(name), value, 'run');
  for (const [name, value] of Object.entries(run.commit_params)) add(paramColumn(name), value, 'commit');
  cache.set(run, out);
  return out;
}

export function valueOf(run: ListedRun, column: string): Value | undefined {
  return valuesOf(run).get(column);
}

/** Columns of these runs: metrics, then parameters, each by name. */
export function columnsOf(runs: readonly ListedRun[]): string[] {
  const names = new Set<string>();
  for (const run of runs) for (const column of valuesOf(run).keys()) names.add(column);
  return inOrder(names);
}

/** Metrics, then parameters, each by name. */
export function inOrder(columns: Iterable<string>): string[] {
  return [...new Set(columns)].sort((a, b) =>
    isMetric(a) === isMetric(b) ? a.localeCompare(b, 'en', { numeric: true }) : isMetric(a) ? -1 : 1,
  );
}

const sixDigits = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 6 });

/** At most six digits: "0.8463", "1,234", "1.2e-7". */
export function shownNumber(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(3).replace(/\.?0+e/, 'e');
  return sixDigits.format(value);
}

export function shownValue(value: Value): string {
  return Number.isNaN(value.number) ? value.text : shownNumber(value.number);
}

export type Verdict = 'better' | 'worse' | 'equal' | 'unknown';

/** A value beside the champion's, by the goal of its metric and never by the sign alone. */
export function judge(value: number, champion: number | undefined, goal: Goal | undefined): Verdict {
  if (champion === undefined || Number.isNaN(champion) || goal === undefined) return 'unknown';
  // A value that is not finite fails every gate.
  if (!Number.isFinite(value)) return 'worse';
  if (value === champion) return 'equal';
  return value > champion === (goal === 'max') ? 'better' : 'worse';
}

/** With its sign: "+0.0266", "-3". */
export function signed(difference: number): string {
  return `${difference > 0 ? '+' : difference < 0 ? '−' : '±'}${shownNumber(Math.abs(Number(difference.toPrecision(4))))}`;
}
