import { Link } from '@tanstack/react-router';
import { Checkbox } from '@/ui/field';
import { counted } from '@/ui/format';
import { EmptyState } from '@/ui/states';
import { Name, Time } from '@/ui/text';
import { IconButton } from '@/ui/button';
import type { Standards } from './run_queries';
import { columnsOf, isMetric, judge, type ListedRun, nameOf, shownNumber, shownValue, valueOf } from './run_values';
import { Delta } from './runs_table';
import styles from './experiments.module.css';

interface SideBySideProps {
  repository: string;
  runs: readonly ListedRun[];
  standards: Standards | undefined;
  showEqual: boolean;
  onShowEqual: (show: boolean) => void;
  onRemove: (run: string) => void;
}

/** Rows in which these runs differ; all of them on demand. */
export function differing(runs: readonly ListedRun[], columns: readonly string[]): string[] {
  return columns.filter((column) => new Set(runs.map((run) => valueOf(run, column)?.text)).size > 1);
}

/** The selected runs as columns. */
export function SideBySide({ repository, runs, standards, showEqual, onShowEqual, onRemove }: SideBySideProps) {
  if (runs.length === 0)
    return <EmptyState icon="chart">Select runs in the table; they are then compared here.</EmptyState>;
  const all = columnsOf(runs);
  const different = runs.length === 1 ? all : differing(runs, all);
  const rows = showEqual ? all : different;
  const hidden = all.length - different.length;
  const champion = standards?.champion ?? null;
  return (
    <div className="stack-tight">
      <div className="toolbar">
        <Checkbox checked={showEqual} onChange={onShowEqual}>
          Show equal rows
        </Checkbox>
        <span className="muted" role="status">
          {!showEqual && hidden > 0
            ? `${counted(hidden, 'row')} in which all runs are equal ${hidden === 1 ? 'is' : 'are'} hidden.`
            : ''}
        </span>
      </div>
      <div className={styles.scroll} tabIndex={0} role="group" aria-label="Table">
        <table className={styles.table}>
          <caption className="visually-hidden">Selected runs side by side</caption>
          <thead>
            <tr>
              <th scope="col" className={styles.sticky}>
                Value
              </th>
              {champion && <th scope="col">@{champion.alias}</th>}
              {runs.map((run) => (
                <th scope="col" key={run.id}>
                  <span className={styles.runHead}>
                    <Link to="/r/$repository/-/runs/$run" params={{ repository, run: run.id }}>
                      <Name>{run.branch || run.experiment}</Name>
                    </Link>
                    <IconButton icon="close" label={`Leave out ${run.id}`} onPress={() => onRemove(run.id)} />
                  </span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <tr>
              <th scope="row" className={styles.sticky}>
                run
              </th>
              {champion && <td className="muted">–</td>}
              {runs.map((run) => (
                <td key={run.id} className="mono">
                  {run.id.slice(0, 12)}
                </td>
              ))}
            </tr>
            <tr>
              <th scope="row" className={styles.sticky}>
                commit
              </th>
              {champion && (
                <td>
                  <Link
                    to="/r/$repository/-/commits/$commit"
                    params={{ repository, commit: champion.commit }}
                    className="mono"
                  >
                    {champion.commit.slice(0, 10)}
                  </Link>
                </td>
              )}
              {runs.map((run) => (
                <td key={run.id}>
                  <Link
                    to="/r/$repository/-/commits/$commit"
                    params={{ repository, commit: run.commit_id }}
                    className="mono"
                  >
                    {run.commit_id.slice(0, 10) || 'none'}
                  </Link>
                </td>
              ))}
            </tr>
            <tr>
              <th scope="row" className={styles.sticky}>
                recorded
              </th>
              {champion && <td />}
              {runs.map((run) => (
                <td key={run.id}>
                  <Time at={run.creation_date} />
                </td>
              ))}
            </tr>
            {rows.map((column) => {
              const goal = standards?.goals.get(column);
              const numbers = runs.map((run) => valueOf(run, column)?.number ?? Number.NaN).filter(Number.isFinite);
              const best =
                goal && numbers.length > 1 ? (goal === 'max' ? Math.max(...numbers) : Math.min(...numbers)) : undefined;
              return (
                <tr key={column}>
                  <th scope="row" className={styles.sticky}>
                    <span className="muted">{isMetric(column) ? 'metric' : 'param'}</span>{' '}
                    <span className="mono">{nameOf(column)}</span>
                  </th>
                  {champion &&
                    (isMetric(column) ? (
                      <td className="numeric">
                        {champion.values.has(column) ? shownNumber(champion.values.get(column)!) : '–'}
                      </td>
                    ) : (
                      <td className="mono">{champion.params.get(column) ?? <span className="muted">–</span>}</td>
                    ))}
                  {runs.map((run) => {
                    const value = valueOf(run, column);
                    if (!value)
                      return (
                        <td key={run.id} className="muted">
                          –
                        </td>
                      );
                    if (!isMetric(column))
                      return (
                        <td key={run.id} className="mono">
                          {value.text}
                        </td>
                      );
                    const worse = judge(value.number, champion?.values.get(column), goal) === 'worse';
                    return (
                      <td
                        key={run.id}
                        className={`numeric ${worse ? styles.regression : ''}`}
                        title={`${value.text} (${value.origin})`}
                      >
                        <Delta value={value.number} column={column} standards={standards} />{' '}
                        {value.number === best ? (
                          <strong title="The best of these">
                            {shownValue(value)} ★<span className="visually-hidden"> best</span>
                          </strong>
                        ) : (
                          shownValue(value)
                        )}
                      </td>
                    );
                  })}
                </tr>
              );
            })}
            {rows.length === 0 && (
              <tr>
                <td colSpan={runs.length + (champion ? 2 : 1)} className="muted">
                  These runs are equal in everything that was recorded.
                </td>
              </tr>
            )}
          </tbody>
        </table>
      </div>
    </div>
  );
}
