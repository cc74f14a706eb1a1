// A profile of the columns of a table: the queries for it, and their answers.
import type { SqlResult } from './sql_engine';

export interface ColumnProfile {
  name: string;
  type: string;
  rows: number;
  nulls: number;
}

export interface Ends {
  distinct: number;
  /** As DuckDB writes them; null where there is no value. */
  min: string | null;
  max: string | null;
}

/** A part of the values of a column, and how many rows are in it. */
export interface Share {
  label: string;
  rows: number;
}

/** Columns that are looked at. */
export const profiledColumnsMax = 50;
export const binsOfHistogram = 20;
/** Values of a text column that are named, the most frequent ones. */
export const frequentValues = 5;
const shownTextMax = 200;

export const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

export const columnsQuery = 'SELECT column_name, column_type FROM (DESCRIBE object)';

/** The rows of the table, and of each column those with a value. It names all columns, so that they are read once. */
export function countsQuery(names: readonly string[]): string {
  return `SELECT ${['*', ...names.map(quoted)].map((column, at) => `count(${column}) AS n${at}`).join(', ')} FROM object`;
}

/** Distinct values, the least and the greatest. */
export function endsQuery(name: string): string {
  const column = quoted(name);
  const text = (value: string) => `left(${value}::VARCHAR, ${shownTextMax})`;
  return `SELECT count(DISTINCT ${column}) AS n, ${text(`min(${column})`)} AS least, ${text(`max(${column})`)} AS most FROM object`;
}

/** The columns in `described` with what countsQuery found. */
export function columnsOf(described: SqlResult, counts: SqlResult): ColumnProfile[] {
  const [rows, ...values] = (counts.rows[0] ?? []).map(Number);
  return described.rows.slice(0, profiledColumnsMax).map(([name, type], index) => ({
    name: name ?? '',
    type: type ?? '',
    rows: rows ?? 0,
    nulls: (rows ?? 0) - (values[index] ?? 0),
  }));
}

/** What endsQuery found. */
export function endsOf({ rows }: SqlResult): Ends {
  const [distinct, min, max] = rows[0] ?? [];
  return { distinct: Number(distinct), min: min ?? null, max: max ?? null };
}

/** The number that places a value of this type in a histogram; undefined of types that are counted by value. */
function numberOf({ name, type }: ColumnProfile): string | undefined {
  if (/^(U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\b.*)$/.test(type)) return `${quoted(name)}::DOUBLE`;
  if (/^(DATE|TIMESTAMP(_\w+)?)$/.test(type)) return `epoch(${quoted(name)}::TIMESTAMP)`;
  return undefined;
}

export function isHistogram(column: ColumnProfile): boolean {
  return numberOf(column) !== undefined;
}

/**
 * Rows by bin for numbers and times, of equal width from the least to the greatest; else the most frequent values. It groups by
 * places, for columns of the table may have any name.
 */
export function sharesQuery(column: ColumnProfile): string {
  const number = numberOf(column);
  if (number === undefined)
    return `SELECT left(${quoted(column.name)}::VARCHAR, ${shownTextMax}) AS label, count(*) AS n FROM object
      WHERE ${quoted(column.name)} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${frequentValues}`;
  return `WITH numbers AS (SELECT ${number} AS x FROM object WHERE isfinite(${number})),
    ends AS (SELECT min(x) AS lo, max(x) AS hi FROM numbers)
    SELECT CASE WHEN hi = lo THEN 0 ELSE least(${binsOfHistogram - 1}, floor((x - lo) / (hi - lo) * ${binsOfHistogram})) END::INTEGER AS bin,
      count(*) AS n FROM numbers, ends GROUP BY 1 ORDER BY 1`;
}

export function sharesOf(column: ColumnProfile, { rows }: SqlResult): Share[] {
  const found = rows.map(([label, n]) => ({ label: label ?? '', rows: Number(n) }));
  if (!isHistogram(column) || found.length === 0) return found;
  const bins = new Map(found.map((share) => [Number(share.label), share.rows]));
  return Array.from({ length: binsOfHistogram }, (_, bin) => ({
    label: `part ${bin + 1} of ${binsOfHistogram}`,
    rows: bins.get(bin) ?? 0,
  }));
}
