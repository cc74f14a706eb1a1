import { objectUrl } from '@/api/client';
import { count } from '@/ui/format';
import type { Shown } from './object_bytes';
import type { SqlResult, SqlSource } from './sql_engine';
import type { SqlAnswer, SqlRequest } from './sql_worker';

/** Of a query, once DuckDB is loaded. */
export const secondsMax = 60;

/** A worker with DuckDB over one object, which starts with the first query; one query at a time. */
export class SqlSession {
  private worker: Worker | undefined;
  private fail: (why: string) => void = () => {};
  private readonly source: SqlSource;

  constructor(shown: Shown, kind: SqlSource['kind']) {
    this.source = {
      url: objectUrl(shown.repository, shown.ref, shown.path),
      path: shown.path,
      size: shown.size,
      kind,
    };
  }

  ask(query: string): Promise<SqlResult> {
    const worker = (this.worker ??= new Worker(new URL('./sql_worker.ts', import.meta.url), { type: 'module' }));
    let timer: ReturnType<typeof setTimeout> | undefined;
    return new Promise<SqlResult>((resolve, reject) => {
      this.fail = (why) => reject(new Error(why));
      worker.onmessage = ({ data }: MessageEvent<SqlAnswer>) => {
        if (data === 'ready')
          timer = setTimeout(
            () => this.stop(`The query was ended after ${count(secondsMax)} seconds.`),
            secondsMax * 1000,
          );
        else if ('error' in data) {
          // The engine did not open. Memory of its instance is given back with the worker only.
          if (timer === undefined) this.stop(data.error);
          else reject(new Error(data.error));
        } else resolve(data);
      };
      worker.onerror = () => this.stop('The query engine could not be loaded.');
      worker.postMessage({ source: this.source, query } satisfies SqlRequest);
    }).finally(() => clearTimeout(timer));
  }

  /** Ends the worker with its query: DuckDB in one thread hears of nothing else. */
  stop(why: string) {
    this.worker?.terminate();
    this.worker = undefined;
    this.fail(why);
  }
}
