import { useEffect, useState } from 'react';
import { Button } from '@/ui/button';
import { TextField } from '@/ui/field';
import { bytes, counted, duration } from '@/ui/format';
import { Progress } from '@/ui/states';
import type { Shown } from './object_bytes';
import type { SqlResult, SqlSource } from './sql_engine';
import { SqlSession } from './sql_session';
import { TableView } from './table_view';
import styles from './preview.module.css';

/** Queries over the rows of one object, which is called "object". */
export function SqlPanel({ shown, kind }: { shown: Shown; kind: SqlSource['kind'] }) {
  const [query, setQuery] = useState('SELECT * FROM object LIMIT 100');
  const [answered, setAnswered] = useState<SqlResult | { error: string }>();
  const [running, setRunning] = useState(false);
  const [session] = useState(() => new SqlSession(shown, kind));
  useEffect(() => () => session.stop('The panel was closed.'), [session]);
  const run = async () => {
    if (query.trim() === '' || running) return;
    setRunning(true);
    setAnswered(undefined);
    setAnswered(await session.ask(query).catch((error: Error) => ({ error: error.message })));
    setRunning(false);
  };
  return (
    <section aria-label="SQL" className={styles.sql}>
      <form
        className="stack-tight"
        onSubmit={(event) => {
          event.preventDefault();
          void run();
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
              void run();
            }
          }}
        />
        <div className="toolbar">
          <Button type="submit" kind="primary" refused={query.trim() === '' ? 'Enter a query' : undefined}>
            Run
          </Button>
          {running && <Button onPress={() => session.stop('The query was stopped.')}>Stop</Button>}
          <span className="muted">Ctrl Enter runs it, in this browser, with DuckDB.</span>
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
