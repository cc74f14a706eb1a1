// Two tables side by side: columns, rows and what the values of each column are.

export interface ColumnFacts {
  name: string;
  type: string;
  empty: number | undefined;
  least: string | undefined;
  greatest: string | undefined;
}

export interface TableFacts {
  rows: number;
  columns: ColumnFacts[];
  /** Of the first part of the object only. */
  partial: boolean;
}

export interface ColumnChange {
  name: string;
  kind: 'added' | 'removed' | 'changed' | 'same';
  before: ColumnFacts | undefined;
  after: ColumnFacts | undefined;
}

/** The columns of both sides, in the order of the right one; those that are gone follow. */
export function columnChanges(before: TableFacts | undefined, after: TableFacts | undefined): ColumnChange[] {
  const old = new Map(before?.columns.map((column) => [column.name, column]));
  const out: ColumnChange[] = (after?.columns ?? []).map((column) => {
    const was = old.get(column.name);
    old.delete(column.name);
    const kind = !was ? 'added' : JSON.stringify(was) === JSON.stringify(column) ? 'same' : 'changed';
    return { name: column.name, kind, before: was, after: column };
  });
  for (const column of old.values()) out.push({ name: column.name, kind: 'removed', before: column, after: undefined });
  return out;
}

/** Of rows of text, the first of which has the names. */
export function factsOfRows(rows: readonly (readonly string[])[], partial: boolean): TableFacts {
  const header = rows[0] ?? [];
  const body = rows.slice(1);
  return {
    rows: body.length,
    partial,
    columns: header.map((name, at) => {
      const values = body.map((row) => row[at] ?? '').filter((value) => value !== '');
      const numbers = values.map(Number);
      const isNumber = values.length > 0 && numbers.every((value) => Number.isFinite(value));
      const sorted = isNumber ? [...numbers].sort((a, b) => a - b).map(String) : [...values].sort();
      const whole = isNumber && numbers.every((value) => Number.isInteger(value));
      return {
        name,
        type: values.length === 0 ? 'empty' : isNumber ? (whole ? 'integer' : 'number') : 'text',
        empty: body.length - values.length,
        least: sorted[0],
        greatest: sorted[sorted.length - 1],
      };
    }),
  };
}

export interface RowCounts {
  added: number;
  removed: number;
  same: number;
}

/** Rows by their whole content, whatever their order. */
export function rowCounts(before: readonly (readonly string[])[], after: readonly (readonly string[])[]): RowCounts {
  const left = new Map<string, number>();
  for (const row of before.slice(1)) {
    const key = JSON.stringify(row);
    left.set(key, (left.get(key) ?? 0) + 1);
  }
  let same = 0;
  for (const row of after.slice(1)) {
    const key = JSON.stringify(row);
    const known = left.get(key) ?? 0;
    if (known === 0) continue;
    left.set(key, known - 1);
    ++same;
  }
  const rows = (all: readonly unknown[]) => Math.max(0, all.length - 1);
  return { same, added: rows(after) - same, removed: rows(before) - same };
}
