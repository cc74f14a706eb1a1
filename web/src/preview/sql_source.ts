// The tables of SQL: columns in memory, of CSV and Arrow, or of the row groups of a Parquet file.
import { type AsyncBuffer, type Compressors, type FileMetaData, parquetReadObjects, parquetSchema } from 'hyparquet';
import { type AsyncDataSource, type AsyncRow, type SqlPrimitive } from 'squirreling';

/** Text becomes a number, and nothing becomes null, where a whole column allows it. */
export function typedColumns(rows: readonly (readonly string[])[], count: number): SqlPrimitive[][] {
  return Array.from({ length: count }, (_, column) => {
    const texts = rows.map((row) => row[column] ?? '');
    const isNumeric = texts.every((text) => text.trim() === '' || !Number.isNaN(Number(text)));
    return texts.map((text) => (text === '' ? null : isNumeric ? Number(text) : text));
  });
}

/** Names that occur once each, as SQL needs them: "", "a", "a" are "column1", "a", "a_2". */
export function uniqueNames(names: readonly string[]): string[] {
  const taken = new Set<string>();
  return names.map((given, index) => {
    const base = given === '' ? `column${index + 1}` : given;
    let name = base;
    for (let number = 2; taken.has(name); ++number) name = `${base}_${number}`;
    taken.add(name);
    return name;
  });
}

function rowOf(columns: string[], values: Record<string, SqlPrimitive>): AsyncRow {
  const cells = Object.fromEntries(columns.map((name) => [name, () => Promise.resolve(values[name] ?? null)]));
  return { columns, cells, resolved: values };
}

/** A table that is in memory by columns. */
export function columnSource(
  names: readonly string[],
  count: number,
  valueAt: (column: number, row: number) => SqlPrimitive,
): AsyncDataSource {
  const columns = uniqueNames(names);
  return {
    numRows: count,
    columns,
    scan: ({ columns: wanted = columns }) => ({
      appliedWhere: false,
      appliedLimitOffset: false,
      async *rows() {
        const places = wanted.map((name) => [name, columns.indexOf(name)] as const);
        for (let row = 0; row < count; ++row)
          yield rowOf(wanted, Object.fromEntries(places.map(([name, column]) => [name, valueAt(column, row)])));
      },
    }),
  };
}

export function csvSource(names: readonly string[], rows: readonly (readonly string[])[]): AsyncDataSource {
  const values = typedColumns(rows, names.length);
  return columnSource(names, rows.length, (column, row) => values[column]![row]!);
}

/** Reads the wanted columns of one row group after the other, so that LIMIT ends the reading. */
export function parquetSource(file: AsyncBuffer, metadata: FileMetaData, compressors: Compressors): AsyncDataSource {
  const columns = parquetSchema(metadata).children.map((child) => child.element.name);
  return {
    numRows: Number(metadata.num_rows),
    columns,
    scan: ({ columns: wanted = columns }) => ({
      appliedWhere: false,
      appliedLimitOffset: false,
      async *rows() {
        let start = 0;
        for (const group of metadata.row_groups) {
          const end = start + Number(group.num_rows);
          if (wanted.length === 0) for (let at = start; at < end; ++at) yield rowOf([], {});
          else
            for (const row of await parquetReadObjects({
              file,
              metadata,
              compressors,
              columns: wanted,
              rowStart: start,
              rowEnd: end,
            }))
              yield rowOf(wanted, row as Record<string, SqlPrimitive>);
          start = end;
        }
      },
    }),
  };
}
