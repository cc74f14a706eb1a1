// Tables of JSON: a list of objects, or one object in each line, as columns of Arrow.
import {
  bool,
  columnFromArray,
  type DataType,
  field,
  float64,
  int64,
  list,
  struct,
  tableFromColumns,
  tableToIPC,
  utf8,
} from '@uwdata/flechette';

type Row = Record<string, unknown>;

const isObject = (value: unknown): value is Row => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Integers of up to 18 digits keep them all, where the browser tells the text of a number. */
function parse(text: string): unknown {
  return JSON.parse(text, ((_key: string, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value) && context?.source
      ? exact(context.source, value)
      : value) as (this: unknown, key: string, value: unknown) => unknown);
}

function exact(source: string, value: number): bigint | number {
  return /^-?\d{1,18}$/.test(source) ? BigInt(source) : value;
}

/** The rows of a text; throws where it is neither. */
export function jsonRows(text: string): Row[] {
  let rows: unknown;
  try {
    rows = parse(text);
  } catch (error) {
    const lines = text.split('\n').filter((line) => line.trim() !== '');
    if (lines.length < 2) throw error;
    rows = lines.map(parse);
  }
  if (isObject(rows)) rows = [rows];
  if (!Array.isArray(rows) || !rows.every(isObject))
    throw new Error('It is not a table: SQL reads a list of objects, or one object in each line.');
  return rows;
}

/** The narrowest type that has all values; text where there is none. */
function typeOf(values: readonly unknown[]): DataType {
  const present = values.filter((value) => value !== null && value !== undefined);
  const all = (test: (value: unknown) => boolean) => present.length > 0 && present.every(test);
  if (all((value) => typeof value === 'boolean')) return bool();
  if (all((value) => typeof value === 'bigint' || Number.isSafeInteger(value))) return int64();
  if (all((value) => typeof value === 'number' || typeof value === 'bigint')) return float64();
  if (all(Array.isArray)) return list(typeOf(present.flat()));
  if (all((value) => isObject(value) && Object.keys(value).length > 0)) {
    const rows = present as Row[];
    return struct(namesOf(rows).map((name) => field(name, typeOf(rows.map((row) => row[name])))));
  }
  return utf8();
}

function namesOf(rows: readonly Row[]): string[] {
  return [...new Set(rows.flatMap((row) => Object.keys(row)))];
}

/** The value as its type has it. */
function fitted(value: unknown, type: DataType): unknown {
  if (value === null || value === undefined) return null;
  if ('children' in type && Array.isArray(value))
    return value.map((item) => fitted(item, (type.children as { type: DataType }[])[0]!.type));
  if ('children' in type)
    return Object.fromEntries(
      (type.children as { name: string; type: DataType }[]).map((child) => [
        child.name,
        fitted((value as Row)[child.name], child.type),
      ]),
    );
  if (type.typeId === utf8().typeId && typeof value !== 'string')
    return JSON.stringify(value, (_, item: unknown) => (typeof item === 'bigint' ? String(item) : item));
  if (type.typeId === int64().typeId) return BigInt(value as number | bigint);
  return type.typeId === float64().typeId ? Number(value) : value;
}

/** A stream of Arrow. */
export function jsonStream(text: string): Uint8Array {
  const rows = jsonRows(text);
  const names = namesOf(rows);
  if (names.length === 0) throw new Error('It has no rows.');
  const columns = names.map((name) => {
    const type = typeOf(rows.map((row) => row[name]));
    return [
      name,
      columnFromArray(
        rows.map((row) => fitted(row[name], type)),
        type,
      ),
    ] as const;
  });
  return tableToIPC(tableFromColumns(columns as never), { format: 'stream' })!;
}
