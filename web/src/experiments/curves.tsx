import { useQueries } from '@tanstack/react-query';
import { useEffect, useMemo, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { asError } from '@/api/errors';
import { Checkbox, Select } from '@/ui/field';
import { counted } from '@/ui/format';
import { EmptyState, Progress, useSlow } from '@/ui/states';
import { colourOf, dashOf, lineStyleOf, themeColour, useIsDark, useSize } from './chart';
import type { RunsSearch } from './runs_search';
import { type Curve, curvesOfOne, curvesQuery } from './run_queries';
import { isMetric, type ListedRun, nameOf, shownNumber, valueOf } from './run_values';
import styles from './experiments.module.css';

const height = 420;

interface CurvesProps {
  repository: string;
  runs: readonly ListedRun[];
  columns: readonly string[];
  search: RunsSearch;
  onSearch: (change: Partial<RunsSearch>) => void;
}

/** Curves of one metric of many runs over their steps. Drag selects a part of the steps, a double click shows all. */
export function Curves({ repository, runs, columns, search, onSearch }: CurvesProps) {
  const metrics = columns.filter(isMetric);
  const withFiles = metrics.filter((column) => runs.some((run) => valueOf(run, column)?.origin.startsWith('file:')));
  const metric = search.metric ?? withFiles[0] ?? metrics[0];
  const parts = useMemo(
    () =>
      Array.from({ length: Math.ceil(runs.length / curvesOfOne) }, (_, part) =>
        runs.slice(part * curvesOfOne, (part + 1) * curvesOfOne),
      ),
    [runs],
  );
  const curves = useQueries({
    queries:
      metric === undefined
        ? []
        : parts.map((part) =>
            curvesQuery(
              repository,
              part.map((run) => run.id),
              nameOf(metric),
            ),
          ),
  });
  const waiting = parts.reduce((sum, part, index) => sum + (curves[index]?.isLoading ? part.length : 0), 0);
  const slow = useSlow(waiting > 0);
  const failed = curves.find((curve) => curve.error);
  const arrived = curves.filter((curve) => curve.data).length;
  const shown = useMemo(
    () =>
      parts.flatMap((part, index) =>
        part.flatMap((run) => {
          const curve = curves[index]?.data?.get(run.id);
          return curve ? [{ run, curve }] : [];
        }),
      ),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- a curve never changes once it is there
    [parts, metric, arrived],
  );
  if (metric === undefined) return <EmptyState icon="chart">These runs have no metric.</EmptyState>;
  const cut = shown.filter((item) => item.curve.isCut).length;
  return (
    <div className="stack-tight">
      <div className={styles.controls}>
        <div className={styles.axis}>
          <Select
            label="Metric"
            value={metric}
            onChange={(value) => onSearch({ metric: value })}
            options={[...new Set([...withFiles, ...metrics, metric])].map((column) => ({
              value: column,
              label: nameOf(column),
            }))}
          />
        </div>
        <Checkbox checked={search.log === true} onChange={(checked) => onSearch({ log: checked || undefined })}>
          Logarithmic
        </Checkbox>
        <span className="muted" role="status">
          {counted(shown.length, 'curve')} of {counted(runs.length, 'run')}
          {cut > 0 ? `; ${cut} cut at 10,000 points` : ''}
        </span>
      </div>
      {slow && (
        <Progress label="Curves" value={1 - waiting / runs.length}>
          {counted(waiting, 'curve')} to go
        </Progress>
      )}
      {failed?.error ? <p role="alert">{asError(failed.error).message}</p> : null}
      {waiting === 0 && shown.length === 0 ? (
        <EmptyState icon="chart" command={`tarn fs upload metrics.csv tarn://${repository}/BRANCH/metrics/curve.csv`}>
          No file of these commits has a curve of {nameOf(metric)}. A CSV or JSON-lines file below metrics/ with a
          column "step" is one.
        </EmptyState>
      ) : (
        <Plot shown={shown} log={search.log === true} label={nameOf(metric)} />
      )}
    </div>
  );
}

function Plot({ shown, log, label }: { shown: { run: ListedRun; curve: Curve }[]; log: boolean; label: string }) {
  const box = useRef<HTMLDivElement>(null);
  const { width } = useSize(box, height);
  const isDark = useIsDark();
  useEffect(() => {
    const parent = box.current;
    if (!parent || width === 0 || shown.length === 0) return;
    const text = themeColour('--muted');
    const grid = themeColour('--border');
    const data = joined(
      shown.map((item) => item.curve),
      log,
    );
    const axis = {
      stroke: text,
      grid: { stroke: grid, width: 1 },
      ticks: { stroke: grid, width: 1 },
      font: '12px system-ui',
    };
    const plot = new uPlot(
      {
        width,
        height,
        scales: { x: { time: false }, y: { distr: log ? 3 : 1 } },
        axes: [
          { ...axis, label: 'step', labelFont: '12px system-ui' },
          {
            ...axis,
            size: 64,
            values: (_, values) => values.map((value) => (value === null ? '' : shownNumber(value))),
          },
        ],
        series: [
          { label: 'step' },
          ...shown.map((item, index) => ({
            label: nameOfRun(item.run),
            stroke: colourOf(index, isDark),
            width: 1.5,
            dash: dashOf(index),
            spanGaps: true,
            points: { show: item.curve.steps.length < 40 },
            value: (_: uPlot, value: number | null) => (value === null ? '–' : shownNumber(value)),
          })),
        ],
        legend: { live: true, markers: { width: 3, dash: (_, index) => lineStyleOf(index - 1) } },
        cursor: { focus: { prox: 24 } },
        focus: { alpha: 0.25 },
      },
      data,
      parent,
    );
    return () => plot.destroy();
  }, [shown, width, log, isDark]);
  return (
    <div
      ref={box}
      className={styles.plot}
      role="group"
      aria-label={`Curves of ${label}: ${shown.map((item) => `${nameOfRun(item.run)} ends at ${shownNumber(item.curve.values.at(-1)!)}`).join(', ')}`}
    />
  );
}

function nameOfRun(run: ListedRun): string {
  return `${run.branch || run.experiment} ${run.id.slice(0, 12)}`;
}

/** One table of all steps. A logarithm has nothing for zero and below; NaN and infinities are gaps. */
export function joined(curves: readonly Curve[], log: boolean): uPlot.AlignedData {
  const drawable = (value: number) => Number.isFinite(value) && (!log || value > 0);
  return uPlot.join(
    curves.map(
      (curve) => [curve.steps, curve.values.map((value) => (drawable(value) ? value : null))] as uPlot.AlignedData,
    ),
  );
}
