// DuckDB over the one object that is shown, as the table "object".
import engineUrl from '@duckdb/duckdb-wasm/dist/duckdb-eh.wasm?url';
import { BROWSER_RUNTIME, createDuckDB, type DuckDBBindings, type DuckDBConnection, VoidLogger } from 'duckdb-blocking';
import type { ParquetFile } from 'parquet-wasm';
import { delimiterOf } from './csv';
import { columnsOf, hiddenBy, isStreaming, limitOf, type PlanNode } from './sql_plan';

export interface SqlSource {
  /** Of the object's bytes. */
  url: string;
  path: string;
  size: number;
  kind: 'parquet' | 'csv' | 'json' | 'arrow';
}

export interface SqlResult {
  columns: string[];
  /** As DuckDB writes the values; null is NULL. */
  rows: (string | null)[][];
  hasMore: boolean;
  /** Since the last query. */
  readBytes: number;
  seconds: number;
}

export const resultRowsMax = 1000;
export const readBytesMax = 256 * 1024 * 1024;
/** Of DuckDB; WebAssembly has 4 GB at most. */
const memoryMax = '1GB';

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`;

/** Loads rows for a plan, until `isEnough`. */
type Fill = (plan: PlanNode, isEnough: () => boolean) => Promise<void>;

/** Used by one query after the other. */
export class SqlEngine {
  private readBytes = 0;
  private tableBytes = 0;

  private constructor(
    private readonly source: SqlSource,
    private readonly database: DuckDBBindings,
    private readonly connection: DuckDBConnection,
  ) {}

  private fill: Fill = async () => {};

  static async open(source: SqlSource): Promise<SqlEngine> {
    const bundle = { mainModule: engineUrl, mainWorker: '' };
    const database = await createDuckDB({ mvp: bundle, eh: bundle }, new VoidLogger(), BROWSER_RUNTIME);
    await database.instantiate(() => {});
    database.open({ maximumThreads: 1 });
    const engine = new SqlEngine(source, database, database.connect());
    engine.execute(`SET autoload_known_extensions = false; SET autoinstall_known_extensions = false;
      SET memory_limit = '${memoryMax}'`);
    if (source.kind === 'parquet') await engine.openParquet();
    else await engine.load(source.kind);
    // A query reads the table alone: no file, no address, no extension.
    engine.execute('SET enable_external_access = false');
    return engine;
  }

  /** The rows of one SELECT, or what else can stand in FROM. Throws for what is wrong with it. */
  async query(text: string): Promise<SqlResult> {
    const begin = performance.now();
    const query = text.trim().replace(/[;\s]+$/, '');
    const plan = this.plan(query);
    const limit = Math.min(limitOf(plan, query), resultRowsMax + 1);
    const streams = isStreaming(plan);
    await this.fill(plan, () => streams && this.select(query, limit).rows.length >= limit);
    const { columns, rows } = this.select(query, resultRowsMax + 1);
    const readBytes = this.readBytes;
    this.readBytes = 0;
    return {
      columns,
      rows: rows.slice(0, resultRowsMax),
      hasMore: rows.length > resultRowsMax,
      readBytes,
      seconds: (performance.now() - begin) / 1000,
    };
  }

  private execute(sql: string) {
    return this.connection.query(sql);
  }

  /** Values are written by DuckDB: JavaScript has no decimals, 64-bit integers or microseconds. */
  private select(query: string, limit: number) {
    const table = this.execute(`SELECT COLUMNS(*)::VARCHAR FROM (${query}\n) LIMIT ${limit}`);
    const columns = table.schema.fields.map((field) => field.name);
    const vectors = columns.map((_, at) => table.getChildAt(at)!);
    const rows = Array.from({ length: table.numRows }, (_, row) =>
      vectors.map((vector) => vector.get(row) as string | null),
    );
    return { columns, rows };
  }

  private plan(query: string): PlanNode {
    this.execute(`SET disabled_optimizers = '${hiddenBy.join()}'`);
    try {
      const explained = this.execute(`EXPLAIN (FORMAT json) FROM (${query}\n)`);
      return (JSON.parse(explained.getChild('explain_value')!.get(0) as string) as [PlanNode])[0];
    } finally {
      this.execute(`SET disabled_optimizers = ''`);
    }
  }

  private async read(from: number, to: number): Promise<Uint8Array<ArrayBuffer>> {
    if (this.tableBytes + to - from > readBytesMax)
      throw new Error(
        `SQL reads at most ${readBytesMax / 1024 / 1024} MB of an object. Name fewer columns, or add LIMIT.`,
      );
    this.tableBytes += to - from;
    this.readBytes += to - from;
    const response = await fetch(this.source.url, { headers: { Range: `bytes=${from}-${to - 1}` } });
    if (!response.ok) throw new Error(`The server answered ${response.status}.`);
    return new Uint8Array(await response.arrayBuffer());
  }

  private async load(kind: 'csv' | 'json' | 'arrow') {
    const bytes = this.source.size === 0 ? new Uint8Array() : await this.read(0, this.source.size);
    if (kind === 'csv') {
      const delimiter = delimiterOf(new TextDecoder().decode(bytes.subarray(0, 65536)), this.source.path);
      this.database.registerFileBuffer('object.csv', bytes);
      this.execute(`CREATE TABLE object AS
        FROM read_csv('object.csv', header = true, delim = '${delimiter}', sample_size = -1)`);
      this.database.dropFile('object.csv');
      return;
    }
    const stream =
      kind === 'arrow'
        ? (await import('./arrow_table')).streamOf(bytes)
        : (await import('./json_table')).jsonStream(new TextDecoder().decode(bytes));
    this.connection.insertArrowFromIPCStream(stream, { name: 'object', create: true });
    if (kind === 'json') this.findDates();
  }

  /** Columns of text whose values are all dates, or all timestamps, have that type. */
  private findDates() {
    for (const { name } of this.columns().filter((column) => column.type === 'VARCHAR')) {
      const column = quoted(name);
      const found = ['DATE', 'TIMESTAMP'].find((wanted) => {
        const pattern = `^\\d{4}-\\d\\d-\\d\\d${wanted === 'DATE' ? '' : '[T ]\\d\\d:\\d\\d(:\\d\\d(\\.\\d{1,6})?)?'}$`;
        const counted = this.execute(`SELECT count(*) > 0 AND bool_and(regexp_matches(${column}, '${pattern}')
          AND TRY_CAST(${column} AS ${wanted}) IS NOT NULL) FROM object WHERE ${column} IS NOT NULL`);
        return counted.getChildAt(0)!.get(0) as boolean;
      });
      if (found) this.execute(`ALTER TABLE object ALTER ${column} TYPE ${found}`);
    }
  }

  private columns(): { name: string; type: string }[] {
    const described = this.execute('SELECT column_name, column_type FROM (DESCRIBE object)');
    return Array.from({ length: described.numRows }, (_, row) => ({
      name: described.getChildAt(0)!.get(row) as string,
      type: described.getChildAt(1)!.get(row) as string,
    }));
  }

  /** Makes the table without rows. Queries read the columns that they name, one row group after the other. */
  private async openParquet() {
    const { default: init, ParquetFile } = await import('parquet-wasm');
    await init();
    const blob = {
      size: this.source.size,
      slice: (start: number, end: number) => ({
        arrayBuffer: async () => (await this.read(Number(start), Number(end))).buffer,
      }),
    };
    const file = await ParquetFile.fromFile(blob as unknown as Blob);
    const schema = file.schema().intoIPCStream();
    const given = (await import('@uwdata/flechette')).tableFromIPC(schema).schema.fields.map((field) => field.name);
    this.connection.insertArrowFromIPCStream(schema, { name: 'object', create: true });
    this.fill = this.parquetFill(
      file,
      given,
      this.columns().map((column) => column.name),
    );
  }

  /** `given` are the names in the file, `names` those in the table, which differ where two are alike. */
  private parquetFill(file: ParquetFile, given: string[], names: string[]): Fill {
    let loaded = new Set<number>();
    let groups = 0;
    const groupCount = file.metadata().numRowGroups();
    const loadGroup = async (wanted: number[]) => {
      if (wanted.length === 0) {
        const rows = Number(file.metadata().rowGroup(groups).numRows());
        this.execute(`INSERT INTO object (${quoted(names[0]!)}) SELECT NULL FROM range(${rows})`);
      } else {
        const part = await file.read({ rowGroups: [groups], columns: wanted.map((at) => given[at]!) });
        this.execute('DROP TABLE IF EXISTS part');
        this.connection.insertArrowFromIPCStream(part.intoIPCStream(), { name: 'part', create: true });
        // Columns that no query has named stay NULL, so that places and names are those of the whole table.
        this.execute(
          `INSERT INTO object (${wanted.map((at) => quoted(names[at]!)).join()}) FROM part; DROP TABLE part`,
        );
      }
      ++groups;
    };
    return async (plan, isEnough) => {
      const needed = columnsOf(plan, names);
      if ([...needed].some((at) => !loaded.has(at))) {
        this.execute('DELETE FROM object');
        loaded = new Set([...loaded, ...needed]);
        groups = 0;
        this.tableBytes = 0;
      }
      const wanted = [...loaded].sort((a, b) => a - b);
      // Doubled, so that looking whether the rows are enough costs no more than reading them.
      for (let next = 1; groups < groupCount; next = groups * 2) {
        if (groups > 0 && isEnough()) return;
        while (groups < Math.min(next, groupCount)) await loadGroup(wanted);
      }
    };
  }
}
