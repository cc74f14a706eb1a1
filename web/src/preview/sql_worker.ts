// Runs a query outside the page, so that one that takes too long is ended. It reads one object, and nothing else.
import { parquetMetadataAsync } from 'hyparquet';
import { executeSql, type AsyncDataSource, type SqlPrimitive } from 'squirreling';
import { delimiterOf, parseCsv } from './csv';
import { compressors } from './parquet_codecs';
import { columnSource, csvSource, parquetSource } from './sql_source';

export interface SqlRequest {
  /** Of the object's bytes. */
  url: string;
  path: string;
  size: number;
  kind: 'parquet' | 'csv' | 'arrow';
  query: string;
}

export type SqlAnswer =
  { columns: string[]; rows: unknown[][]; hasMore: boolean; readBytes: number; seconds: number } | { error: string };

export const resultRowsMax = 1000;
export const readBytesMax = 256 * 1024 * 1024;

/** Read first, from the end; more if the footer is longer. */
const footerBytes = 64 * 1024;

let readBytes = 0;

async function read({ url }: SqlRequest, from: number, to: number): Promise<Uint8Array<ArrayBuffer>> {
  if (readBytes + to - from > readBytesMax)
    throw new Error(
      `A query reads at most ${readBytesMax / 1024 / 1024} MB of an object. Name fewer columns, or add LIMIT.`,
    );
  readBytes += to - from;
  const response = await fetch(url, { headers: { Range: `bytes=${from}-${to - 1}` } });
  if (!response.ok) throw new Error(`The server answered ${response.status}.`);
  return new Uint8Array(await response.arrayBuffer());
}

async function sourceOf(request: SqlRequest): Promise<AsyncDataSource> {
  if (request.kind === 'csv') {
    const text = new TextDecoder().decode(await read(request, 0, request.size)).replace(/^\ufeff/, '');
    const [names = [], ...rows] = parseCsv(text, delimiterOf(text, request.path), Infinity);
    return csvSource(names, rows);
  }
  if (request.kind === 'arrow') {
    const { readArrow } = await import('./arrow_table');
    const { names, columns, count } = readArrow(await read(request, 0, request.size), 0);
    return columnSource(names, count, (column, row) => columns[column]!.at(row) as SqlPrimitive);
  }
  const file = {
    byteLength: request.size,
    slice: async (start: number, end?: number) =>
      (await read(request, start < 0 ? request.size + start : start, end ?? request.size)).buffer,
  };
  return parquetSource(file, await parquetMetadataAsync(file, { initialFetchSize: footerBytes }), compressors);
}

async function run(request: SqlRequest): Promise<SqlAnswer> {
  const begin = performance.now();
  const result = executeSql({ tables: { object: await sourceOf(request) }, query: request.query });
  const { columns } = result;
  const rows: unknown[][] = [];
  let hasMore = false;
  for await (const row of result.rows()) {
    if (rows.length === resultRowsMax) {
      hasMore = true;
      break;
    }
    rows.push(
      await Promise.all(
        columns.map((name) => (row.resolved && name in row.resolved ? row.resolved[name] : row.cells[name]?.())),
      ),
    );
  }
  return { columns: [...columns], rows, hasMore, readBytes, seconds: (performance.now() - begin) / 1000 };
}

self.onmessage = ({ data }: MessageEvent<SqlRequest>) => {
  void run(data)
    .catch((error: unknown): SqlAnswer => ({ error: error instanceof Error ? error.message : String(error) }))
    .then((answered) => self.postMessage(answered));
};
