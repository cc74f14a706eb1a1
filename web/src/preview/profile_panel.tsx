import { useEffect, useState } from 'react';
import { count, counted, duration } from '@/ui/format';
import { Progress } from '@/ui/states';
import { Name } from '@/ui/text';
import type { Shown } from './object_bytes';
import {
  type ColumnProfile,
  columnsOf,
  columnsQuery,
  countsQuery,
  type Ends,
  endsOf,
  endsQuery,
  isHistogram,
  profiledColumnsMax,
  type Share,
  sharesOf,
  sharesQuery,
} from './profile';
import type { SqlSource } from './sql_engine';
import { SqlSession } from './sql_session';
import styles from './preview.module.css';

/** The values of one column; a message where they could not be counted. */
type Values = { ends: Ends; shares: Share[] } | string;

interface Profile {
  columns: ColumnProfile[];
  /** By column, as they are counted. */
  values: Values[];
  /** Columns that were not looked at. */
  left: number;
  seconds?: number;
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));

async function valuesOf(session: SqlSession, column: ColumnProfile): Promise<Values> {
  try {
    const ends = endsOf(await session.ask(endsQuery(column.name)));
    return { ends, shares: sharesOf(column, await session.ask(sharesQuery(column))) };
  } catch (error) {
    return messageOf(error);
  }
}

/** Asks for one thing after the other, and tells what is known by then, as long as somebody wants it. */
async function profile(session: SqlSession, tell: (profile: Profile) => boolean) {
  const begin = performance.now();
  const described = await session.ask(columnsQuery);
  const names = described.rows.slice(0, profiledColumnsMax).map(([name]) => name ?? '');
  const columns = columnsOf(described, await session.ask(countsQuery(names)));
  const values: Values[] = [];
  const left = described.rows.length - names.length;
  for (const column of columns) {
    if (!tell({ columns, values: [...values], left })) return;
    values.push(await valuesOf(session, column));
  }
  tell({ columns, values, left, seconds: (performance.now() - begin) / 1000 });
}

/** Each column of a table: its empty and distinct values, its ends, and how its values spread. DuckDB counts them in this browser. */
export function ProfilePanel({ shown, kind }: { shown: Shown; kind: SqlSource['kind'] }) {
  const [found, setFound] = useState<Profile>();
  const [error, setError] = useState('');
  useEffect(() => {
    let current = true;
    const session = new SqlSession(shown, kind);
    profile(session, (next) => {
      if (current) setFound(next);
      return current;
    }).catch((thrown: unknown) => {
      if (current) setError(messageOf(thrown));
    });
    return () => {
      current = false;
      session.stop('The panel was closed.');
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the checksum stands for the object
  }, [shown.repository, shown.ref, shown.path, shown.checksum, kind]);
  return (
    <section aria-label="Profile" className={styles.sql}>
      {error !== '' && (
        <p role="alert" className={styles.sqlError}>
          {error}
        </p>
      )}
      {found?.seconds === undefined && error === '' && <Progress label="Profile">Reading…</Progress>}
      {found && (
        <>
          <p role="status" className="muted">
            {counted(found.columns[0]?.rows ?? 0, 'row')}, {counted(found.columns.length, 'column')}
            {found.left > 0 && `; ${counted(found.left, 'more column')} not looked at`}
            {found.seconds !== undefined && `, in ${duration(found.seconds)}`}
          </p>
          <div className={styles.profile} tabIndex={0} role="region" aria-label="Profile of the columns">
            <table>
              <thead>
                <tr>
                  {['Column', 'Values', 'Nulls', 'Distinct', 'Least', 'Greatest'].map((head) => (
                    <th key={head}>{head}</th>
                  ))}
                </tr>
              </thead>
              <tbody>
                {found.columns.map((column, at) => (
                  <ColumnRow key={column.name} column={column} values={found.values[at]} />
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </section>
  );
}

function ColumnRow({ column, values }: { column: ColumnProfile; values: Values | undefined }) {
  const found = typeof values === 'object' ? values : undefined;
  return (
    <tr>
      <th scope="row">
        <div className="mono">{column.name}</div>
        <div className={`muted ${styles.end}`}>
          <Name>{column.type}</Name>
        </div>
      </th>
      <td>{typeof values === 'string' ? values : found && <Shares column={column} shares={found.shares} />}</td>
      <td className="numeric">{percent(column.nulls, column.rows)}</td>
      <td className="numeric">{found && count(found.ends.distinct)}</td>
      <td>{found && <End value={found.ends.min} />}</td>
      <td>{found && <End value={found.ends.max} />}</td>
    </tr>
  );
}

function percent(part: number, whole: number): string {
  if (part === 0) return '0';
  return `${count(part)} (${((100 * part) / whole).toPrecision(2)} %)`;
}

function End({ value }: { value: string | null }) {
  return value === null ? (
    <span className="muted">null</span>
  ) : (
    <span className={styles.end}>
      <Name mono>{value}</Name>
    </span>
  );
}

function Shares({ column, shares }: { column: ColumnProfile; shares: Share[] }) {
  const most = Math.max(1, ...shares.map(({ rows }) => rows));
  if (!isHistogram(column))
    return (
      <ul className={styles.frequent}>
        {shares.map(({ label, rows }) => (
          <li key={label}>
            <Name mono>{label}</Name> <span className="muted">{percent(rows, column.rows)}</span>
          </li>
        ))}
      </ul>
    );
  if (shares.length === 0) return null;
  const width = 100 / shares.length;
  return (
    <svg
      className={styles.histogram}
      viewBox="0 0 100 32"
      preserveAspectRatio="none"
      role="img"
      aria-label={`Histogram of ${column.name}: ${shares.map(({ rows }) => rows).join(', ')}`}
    >
      {shares.map(({ label, rows }, at) => (
        <rect key={label} x={at * width} y={32 - (32 * rows) / most} width={width * 0.9} height={(32 * rows) / most}>
          <title>{`${label}: ${counted(rows, 'row')}`}</title>
        </rect>
      ))}
    </svg>
  );
}
