import { useMemo } from 'react';
import { Select } from '@/ui/field';
import { EmptyState } from '@/ui/states';
import type { RunsSearch } from './runs_search';
import { isMetric, isParam, type ListedRun, nameOf, valueOf } from './run_values';
import { correlation } from './statistics';
import styles from './experiments.module.css';

interface CorrelationsProps {
  runs: readonly ListedRun[];
  columns: readonly string[];
  metric: string;
  onSearch: (change: Partial<RunsSearch>) => void;
}

/** Which parameters a metric follows, the strongest first. */
export function Correlations({ runs, columns, metric, onSearch }: CorrelationsProps) {
  const found = useMemo(
    () =>
      columns
        .filter(isParam)
        .flatMap((param) => {
          const pairs = runs.flatMap((run) => {
            const [left, right] = [valueOf(run, param), valueOf(run, metric)];
            return left && right ? [{ param: left.text, number: left.number, metric: right.number }] : [];
          });
          const value = correlation(pairs);
          return value ? [{ param, ...value }] : [];
        })
        .sort((a, b) => Math.abs(b.value) - Math.abs(a.value)),
    [runs, columns, metric],
  );
  return (
    <div className="stack-tight">
      <div className={styles.controls}>
        <div className={styles.axis}>
          <Select
            label="Metric"
            value={metric}
            onChange={(value) => onSearch({ metric: value })}
            options={columns.filter(isMetric).map((column) => ({ value: column, label: nameOf(column) }))}
          />
        </div>
      </div>
      {found.length === 0 ? (
        <EmptyState icon="chart">No parameter differs among three runs with this metric.</EmptyState>
      ) : (
        <div className={styles.scroll} tabIndex={0} role="group" aria-label="Table">
          <table className={styles.table}>
            <caption className="visually-hidden">{`Correlation of parameters with ${nameOf(metric)}`}</caption>
            <thead>
              <tr>
                <th scope="col">Parameter</th>
                <th scope="col" className={styles.boxColumn}>
                  Correlation
                </th>
                <th scope="col" className="numeric">
                  Value
                </th>
                <th scope="col">Measure</th>
                <th scope="col" className="numeric">
                  Runs
                </th>
              </tr>
            </thead>
            <tbody>
              {found.map((item) => (
                <tr key={item.param}>
                  <th scope="row" className="mono">
                    {nameOf(item.param)}
                  </th>
                  <td>
                    <span className={styles.signedBar} aria-hidden="true">
                      <span
                        className={item.value < 0 ? styles.negative : styles.positive}
                        style={
                          item.value < 0
                            ? { right: '50%', width: `${50 * -item.value}%` }
                            : { left: '50%', width: `${50 * item.value}%` }
                        }
                      />
                    </span>
                  </td>
                  <td className="numeric">
                    {item.value < 0 ? '−' : item.kind === 'number' ? '+' : ''}
                    {Math.abs(item.value).toFixed(2)}
                  </td>
                  <td className="muted">{item.kind === 'number' ? 'Pearson' : 'correlation ratio'}</td>
                  <td className="numeric">{item.count}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <p className="muted">
        Correlation is not causation: parameters that were changed together have similar values here.
      </p>
    </div>
  );
}
