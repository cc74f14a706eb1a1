import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { delimiterOf, parseCsv } from '@/preview/csv';
import { readBytes, type Shown } from '@/preview/object_bytes';
import { count, counted } from '@/ui/format';
import { ErrorPanel, Skeleton } from '@/ui/states';
import { Badge } from '@/ui/text';
import type { ContentProps, Texts } from './compared_object';
import { type ColumnFacts, columnChanges, factsOfRows, rowCounts, type TableFacts } from './table_diff';
import styles from './changes.module.css';

const rowsMax = 100_000;
const columnsMax = 500;

/** CSV by columns and rows. */
export function CsvDiff({ left, right, isCut, path }: Texts & { path: string }) {
  const [before, after, rows] = useMemo(() => {
    const parse = (text: string | undefined) =>
      text === undefined ? undefined : parseCsv(text, delimiterOf(text, path), rowsMax);
    const was = parse(left);
    const is = parse(right);
    const partial = isCut || (was?.length ?? 0) >= rowsMax || (is?.length ?? 0) >= rowsMax;
    return [
      was && factsOfRows(was, partial),
      is && factsOfRows(is, partial),
      partial ? undefined : rowCounts(was ?? [], is ?? []),
    ] as const;
  }, [left, right, isCut, path]);
  return (
    <div className="stack-tight">
      {rows && (
        <p>
          <span className={styles.added}>+{counted(rows.added, 'row')}</span>{' '}
          <span className={styles.removed}>−{counted(rows.removed, 'row')}</span>{' '}
          <span className="muted">{count(rows.same)} as before, whatever their order</span>
        </p>
      )}
      <TableFactsDiff before={before} after={after} />
    </div>
  );
}

/** Parquet by what its footer says: columns, rows, least and greatest values. Row data is not read. */
export function ParquetDiff({ before, after }: ContentProps) {
  const facts = useQuery({
    queryKey: ['parquet-facts', before?.checksum, after?.checksum],
    staleTime: Infinity,
    queryFn: async ({ signal }) => ({
      before: before && (await parquetFacts(before, signal)),
      after: after && (await parquetFacts(after, signal)),
    }),
  });
  if (facts.error) return <ErrorPanel error={facts.error} onRetry={() => void facts.refetch()} />;
  if (!facts.data) return <Skeleton rows={4} />;
  return <TableFactsDiff before={facts.data.before} after={facts.data.after} />;
}

type Value = string | number | bigint | boolean | Date | Uint8Array | undefined;

async function parquetFacts(shown: Shown, signal: AbortSignal): Promise<TableFacts> {
  const { parquetMetadataAsync, parquetSchema } = await import('hyparquet');
  const metadata = await parquetMetadataAsync({
    byteLength: shown.size,
    slice: async (start, end) =>
      (await readBytes(shown, start < 0 ? shown.size + start : start, end ?? shown.size, signal)).buffer,
  });
  const columns = parquetSchema(metadata).children.map((node): ColumnFacts => {
    const facts: ColumnFacts = {
      name: node.element.name,
      type: node.element.logical_type?.type ?? node.element.converted_type ?? node.element.type ?? 'group',
      empty: undefined,
      least: undefined,
      greatest: undefined,
    };
    let least: Value;
    let greatest: Value;
    for (const group of metadata.row_groups) {
      const statistics = group.columns.find((column) => column.meta_data?.path_in_schema.join('.') === facts.name)
        ?.meta_data?.statistics;
      if (!statistics) continue;
      if (statistics.null_count !== undefined) facts.empty = (facts.empty ?? 0) + Number(statistics.null_count);
      const low = statistics.min_value ?? statistics.min;
      const high = statistics.max_value ?? statistics.max;
      if (low !== undefined && (least === undefined || low < least)) least = low;
      if (high !== undefined && (greatest === undefined || high > greatest)) greatest = high;
    }
    return { ...facts, least: valueText(least), greatest: valueText(greatest) };
  });
  return { rows: Number(metadata.num_rows), columns, partial: false };
}

function valueText(value: unknown): string | undefined {
  if (value === undefined) return undefined;
  return value instanceof Date ? value.toISOString() : String(value);
}

function TableFactsDiff({ before, after }: { before: TableFacts | undefined; after: TableFacts | undefined }) {
  const changes = columnChanges(before, after);
  const rowsOf = (facts: TableFacts | undefined) =>
    facts
      ? `${facts.partial ? 'at least ' : ''}${counted(facts.rows, 'row')}, ${counted(facts.columns.length, 'column')}`
      : 'none';
  return (
    <div className="stack-tight">
      <p>
        Before: {rowsOf(before)}. After: {rowsOf(after)}.
      </p>
      <div className={styles.framed} role="region" aria-label="Columns" tabIndex={0}>
        <table className={styles.facts}>
          <thead>
            <tr>
              <th scope="col">Column</th>
              <th scope="col">Change</th>
              <th scope="col">Type</th>
              <th scope="col">Empty</th>
              <th scope="col">Least</th>
              <th scope="col">Greatest</th>
            </tr>
          </thead>
          <tbody>
            {changes.slice(0, columnsMax).map((change) => (
              <tr key={change.name}>
                <th scope="row" className="mono">
                  {change.name}
                </th>
                <td>
                  {change.kind === 'same' ? (
                    <span className="muted">same</span>
                  ) : (
                    <Badge kind={change.kind}>{change.kind}</Badge>
                  )}
                </td>
                {(['type', 'empty', 'least', 'greatest'] as const).map((name) => (
                  <td key={name}>
                    <Both
                      before={change.before?.[name]}
                      after={change.after?.[name]}
                      isNew={!change.before}
                      isGone={!change.after}
                    />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {changes.length > columnsMax && (
        <p className="muted">{counted(changes.length - columnsMax, 'more column')} are not shown.</p>
      )}
    </div>
  );
}

function Both({
  before,
  after,
  isNew,
  isGone,
}: {
  before: string | number | undefined;
  after: string | number | undefined;
  isNew: boolean;
  isGone: boolean;
}) {
  if (isNew || before === after) return <>{after}</>;
  if (isGone) return <>{before}</>;
  return (
    <>
      {before ?? 'unknown'} <span aria-label="becomes">→</span> {after ?? 'unknown'}
    </>
  );
}
