// Runs queries outside the page, so that one that takes too long is ended. It reads one object, and nothing else.
import { SqlEngine, type SqlResult, type SqlSource } from './sql_engine';

export interface SqlRequest {
  /** The same in each request of a worker. */
  source: SqlSource;
  query: string;
}

/** "ready" comes once for each request, when DuckDB is loaded and the query begins. An error before it ends the worker. */
export type SqlAnswer = 'ready' | SqlResult | { error: string };

let opened: Promise<SqlEngine> | undefined;

async function answer({ source, query }: SqlRequest): Promise<SqlAnswer> {
  const engine = await (opened ??= SqlEngine.open(source));
  self.postMessage('ready' satisfies SqlAnswer);
  return engine.query(query);
}

/** Of DuckDB's messages, those about extensions say what to install, which the page does not do. */
function messageOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const extension = /(?:exists in the|required extension) '?(\w+)'?/.exec(message)?.[1];
  return extension
    ? `This needs the extension "${extension}" of DuckDB, which the page does not have. Run the query in DuckDB itself; "Connect" says how.`
    : message;
}

self.onmessage = ({ data }: MessageEvent<SqlRequest>) => {
  void answer(data)
    .catch((error: unknown): SqlAnswer => ({ error: messageOf(error) }))
    .then((answered) => self.postMessage(answered));
};
