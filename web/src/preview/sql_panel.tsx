import { useEffect, useRef, useState } from 'react';
import { objectUrl } from '@/api/client';
import { Button } from '@/ui/button';
import { TextField } from '@/ui/field';
import { bytes, counted, duration } from '@/ui/format';
import { Progress } from '@/ui/states';
import type { Shown } from './object_bytes';
import type { SqlAnswer, SqlRequest } from './sql_worker';
import { TableView } from './table_view';
import styles from './preview.module.css';

const secondsMax = 60;

/** A query over the rows of one object, which is called "object". It runs in a worker that is ended after a minute. */
export function SqlPanel({ shown, kind }: { shown: Shown; kind: SqlRequest['kind'] }) {
  const [query, setQuery] = useState('SELECT * FROM object LIMIT 100');
  const [answered, setAnswered] = useState<SqlAnswer>();
  const [running, setRunning] = useState(false);
  const stop = useRef<() => void>(() => {});
  useEffect(() => () => stop.current(), []);
  const end = (result: SqlAnswer) => {
    stop.current();
    setAnswered(result);
    setRunning(false);
  };
  const run = () => {
    if (query.trim() === '') return;
    stop.current();
    setRunning(true);
    setAnswered(undefined);
    const worker = new Worker(new URL('./sql_worker.ts', import.meta.url), { type: 'module' });
    const timer = setTimeout(
      () => end({ error: `The query was ended after ${secondsMax} seconds.` }),
      secondsMax * 1000,
    );
    stop.current = () => {
      clearTimeout(timer);
      worker.terminate();
    };
    worker.onmessage = ({ data }: MessageEvent<SqlAnswer>) => end(data);
    worker.onerror = () => end({ error: 'The query engine could not be loaded.' });
    worker.postMessage({
      url: objectUrl(shown.repository, shown.ref, shown.path),
      path: shown.path,
      size: shown.size,
      kind,
      query,
    } satisfies SqlRequest);
  };
  return (
    <section aria-label="SQL" className={styles.sql}>
      <form
        className="stack-tight"
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        <TextField
          label="SELECT"
          value={query}
          onChange={setQuery}
          rows={3}
          mono
          help='The table is called object. Names of columns are quoted as "my column".'
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
              event.preventDefault();
              run();
            }
          }}
        />
        <div className="toolbar">
          <Button type="submit" kind="primary" refused={query.trim() === '' ? 'Enter a query' : undefined}>
            Run
          </Button>
          {running && <Button onPress={() => end({ error: 'The query was stopped.' })}>Stop</Button>}
          <span className="muted">Ctrl Enter runs it, in this browser.</span>
        </div>
      </form>
      {running && <Progress label="Query">Reading…</Progress>}
      {answered &&
        ('error' in answered ? (
          <p role="alert" className={styles.sqlError}>
            {answered.error}
          </p>
        ) : (
          <>
            <p role="status" className="muted">
              {answered.hasMore
                ? `The first ${counted(answered.rows.length, 'row')} of more`
                : counted(answered.rows.length, 'row')}
              , {bytes(answered.readBytes)} read in {duration(answered.seconds)}
            </p>
            <TableView label="Result of the query" names={answered.columns} rows={answered.rows} />
          </>
        ))}
    </section>
  );
}
