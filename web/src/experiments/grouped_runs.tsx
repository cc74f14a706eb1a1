import { useMemo } from 'react';
import { EmptyState } from '@/ui/states';
import { isMetric, type ListedRun, nameOf, shownNumber, valueOf } from './run_values';
import { boxOf, inOrder } from './statistics';
import styles from './experiments.module.css';

interface GroupedRunsProps {
  runs: readonly ListedRun[];
  columns: readonly string[];
  by: string;
  onOpen: (value: string) => void;
}

/** One row for each value of a parameter, with mean and range of the metrics. */
export function GroupedRuns({ runs, columns, by, onOpen }: GroupedRunsProps) {
  const metrics = columns.filter(isMetric);
  const groups = useMemo(() => {
    const out = new Map<string, ListedRun[]>();
    for (const run of runs) {
      const value = valueOf(run, by)?.text;
      if (value === undefined) continue;
      const known = out.get(value);
      if (known) known.push(run);
      else out.set(value, [run]);
    }
    return inOrder(out.keys()).map((value) => ({ value, runs: out.get(value)! }));
  }, [runs, by]);
  if (groups.length === 0) return <EmptyState icon="chart">No run has the parameter {nameOf(by)}.</EmptyState>;
  return (
    <div className={styles.scroll} tabIndex={0} role="group" aria-label="Table">
      <table className={styles.table}>
        <caption className="visually-hidden">{`Runs grouped by ${nameOf(by)}`}</caption>
        <thead>
          <tr>
            <th scope="col" className={styles.sticky}>
              {nameOf(by)}
            </th>
            <th scope="col" className="numeric">
              Runs
            </th>
            {metrics.map((column) => (
              <th scope="col" key={column} className="numeric">
                {nameOf(column)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {groups.map((group) => (
            <tr key={group.value}>
              <th scope="row" className={styles.sticky}>
                <button
                  type="button"
                  className={styles.textButton}
                  title={`Show the runs with ${nameOf(by)} = ${group.value}`}
                  onClick={() => onOpen(group.value)}
                >
                  {group.value || '(empty)'}
                </button>
              </th>
              <td className="numeric">{group.runs.length}</td>
              {metrics.map((column) => {
                const box = boxOf(group.runs.map((run) => valueOf(run, column)?.number ?? Number.NaN));
                return (
                  <td key={column} className="numeric">
                    {box ? (
                      <>
                        <strong>{shownNumber(box.mean)}</strong>{' '}
                        <span className="muted">
                          {shownNumber(box.min)} to {shownNumber(box.max)}
                        </span>
                      </>
                    ) : (
                      <span className="muted">–</span>
                    )}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
