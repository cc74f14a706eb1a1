import { useMemo } from 'react';
import { Select } from '@/ui/field';
import { EmptyState } from '@/ui/states';
import type { RunsSearch } from './runs_search';
import { isMetric, isParam, type ListedRun, nameOf, shownNumber, valueOf } from './run_values';
import { boxOf, inOrder, rangeOf, share } from './statistics';
import styles from './experiments.module.css';

const groupsMax = 50;

interface BoxesProps {
  runs: readonly ListedRun[];
  columns: readonly string[];
  metric: string;
  by: string;
  onSearch: (change: Partial<RunsSearch>) => void;
}

/** The spread of a metric for each value of a parameter, as boxes with their figures. */
export function Boxes({ runs, columns, metric, by, onSearch }: BoxesProps) {
  const groups = useMemo(() => {
    const values = new Map<string, number[]>();
    for (const run of runs) {
      const group = valueOf(run, by)?.text;
      const value = valueOf(run, metric)?.number;
      if (group === undefined || value === undefined) continue;
      const known = values.get(group);
      if (known) known.push(value);
      else values.set(group, [value]);
    }
    return inOrder(values.keys()).flatMap((name) => {
      const box = boxOf(values.get(name)!);
      return box ? [{ name, box }] : [];
    });
  }, [runs, metric, by]);
  const range = rangeOf(groups.flatMap((group) => [group.box.min, group.box.max]));
  const percent = (value: number) => `${100 * share(value, range!)}%`;
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
        <div className={styles.axis}>
          <Select
            label="By parameter"
            value={by}
            onChange={(value) => onSearch({ x: value })}
            options={columns.filter(isParam).map((column) => ({ value: column, label: nameOf(column) }))}
          />
        </div>
      </div>
      {!range ? (
        <EmptyState icon="chart">No run has both values.</EmptyState>
      ) : (
        <div className={styles.scroll} tabIndex={0} role="group" aria-label="Table">
          <table className={styles.table}>
            <caption className="visually-hidden">{`${nameOf(metric)} by ${nameOf(by)}`}</caption>
            <thead>
              <tr>
                <th scope="col">{nameOf(by)}</th>
                <th scope="col" className={styles.boxColumn}>
                  <span className={styles.ends}>
                    <span>{shownNumber(range.min)}</span>
                    <span>{shownNumber(range.max)}</span>
                  </span>
                </th>
                <th scope="col" className="numeric">
                  Median
                </th>
                <th scope="col" className="numeric">
                  Mean
                </th>
                <th scope="col" className="numeric">
                  Quartiles
                </th>
                <th scope="col" className="numeric">
                  Runs
                </th>
              </tr>
            </thead>
            <tbody>
              {groups.slice(0, groupsMax).map(({ name, box }) => (
                <tr key={name}>
                  <th scope="row" className="mono">
                    {name}
                  </th>
                  <td>
                    <span className={styles.box} aria-hidden="true">
                      <span
                        className={styles.whisker}
                        style={{ left: percent(box.min), right: `${100 - 100 * share(box.max, range)}%` }}
                      />
                      <span
                        className={styles.quartiles}
                        style={{ left: percent(box.low), right: `${100 - 100 * share(box.high, range)}%` }}
                      />
                      <span className={styles.median} style={{ left: percent(box.median) }} />
                    </span>
                  </td>
                  <td className="numeric">{shownNumber(box.median)}</td>
                  <td className="numeric">{shownNumber(box.mean)}</td>
                  <td className="numeric">
                    {shownNumber(box.low)} to {shownNumber(box.high)}
                  </td>
                  <td className="numeric">{box.count}</td>
                </tr>
              ))}
            </tbody>
          </table>
          {groups.length > groupsMax && <p className="muted">{groups.length - groupsMax} more values are not shown.</p>}
        </div>
      )}
    </div>
  );
}
