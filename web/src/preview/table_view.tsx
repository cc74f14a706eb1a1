import { useMemo } from 'react';
import { type Column, DataTable } from '@/ui/data_table';
import styles from './preview.module.css';

const columnsMax = 200;
/** Rows that decide how wide a column is, and on which side its values stand. */
const sampledRows = 50;

/** Rows of cells under names, as text. */
export function TableView({
  label,
  names,
  rows,
}: {
  label: string;
  names: readonly string[];
  rows: readonly (readonly unknown[])[];
}) {
  const columns = useMemo(
    (): Column<number>[] => [
      { id: '#', header: '#', width: '64px', numeric: true, cell: (row) => <span className="muted">{row + 1}</span> },
      ...names.slice(0, columnsMax).map((name, index): Column<number> => {
        const sample = rows.slice(0, sampledRows).map((row) => row[index]);
        const numeric =
          rows.length > 0 &&
          sample.every(
            (value) =>
              value === null ||
              value === undefined ||
              value === '' ||
              (!(value instanceof Date) && !Number.isNaN(Number(value))),
          );
        const longest = sample.reduce<number>((most, value) => Math.max(most, cellText(value).length), name.length);
        return {
          id: `${index} ${name}`,
          header: name,
          width: `minmax(${Math.min(240, Math.max(72, longest * 8 + 16))}px, 1fr)`,
          numeric,
          cell: (row) => <Cell value={rows[row]?.[index]} />,
        };
      }),
    ],
    [names, rows],
  );
  return (
    <div className={styles.grid} style={{ height: `min(60vh, ${(Math.max(3, rows.length) + 2) * 32}px)` }}>
      <DataTable label={label} fill columns={columns} count={rows.length} row={(index) => index} rowKey={String} />
    </div>
  );
}

function Cell({ value }: { value: unknown }) {
  const text = cellText(value);
  return (
    <span className={`${styles.cellText} ${value === null || value === undefined ? 'muted' : ''}`} title={text}>
      {text}
    </span>
  );
}

/** A number where JSON has one that is as exact, else its digits as text. */
function jsonNumber(value: bigint): number | string {
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
}

/** A value of a table as text. */
export function cellText(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (value instanceof Date) return value.toISOString();
  if (value instanceof Uint8Array) return `${value.length} bytes`;
  if (typeof value === 'object')
    return JSON.stringify(value, (_, item: unknown) => (typeof item === 'bigint' ? jsonNumber(item) : item)).slice(
      0,
      1000,
    );
  return String(value);
}
