import { useQueries } from '@tanstack/react-query';
import { useEffect, useMemo, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { asError } from '@/api/errors';
import { IconButton } from '@/ui/button';
import { Checkbox, Select } from '@/ui/field';
import { counted } from '@/ui/format';
import { EmptyState, Progress, useSlow } from '@/ui/states';
import { colourOf, dashOf, lineStyleOf, themeColour, useIsDark, useSize } from './chart';
import type { RunsSearch } from './runs_search';
import { type Curve, curvesOfOne, curvesQuery } from './run_queries';
import { isLive, isMetric, type ListedRun, nameOf, shownNumber, valueOf } from './run_values';
import styles from './experiments.module.css';

const height = 420;
const smoothMax = 99;

interface CurvesProps {
  repository: string;
  runs: readonly ListedRun[];
  columns: readonly string[];
  search: RunsSearch;
  onSearch: (change: Partial<RunsSearch>) => void;
}

/**
 * Curves of metrics of many runs over their steps, a chart for each metric. Drag selects a part of the steps, a double click
 * shows all. Charts of runs that are running follow them.
 */
export function Curves({ repository, runs, columns, search, onSearch }: CurvesProps) {
  const metrics = columns.filter(isMetric);
  const withFiles = metrics.filter((column) => runs.some((run) => valueOf(run, column)?.origin.startsWith('file:')));
  const metric = search.metric ?? withFiles[0] ?? metrics[0];
  if (metric === undefined) return <EmptyState icon="chart">These runs have no metric.</EmptyState>;
  const charts = [...new Set([metric, ...(search.chart ?? [])])];
  const choices = [...new Set([...withFiles, ...metrics, ...charts])];
  const smooth = search.smooth ?? 0;
  const setCharts = (next: readonly string[]) => onSearch({ chart: next.length === 0 ? undefined : [...next] });
  return (
    <div className="stack-tight">
      <div className={styles.controls}>
        <div className={styles.axis}>
          <Select
            label="Metric"
            value={metric}
            onChange={(value) => onSearch({ metric: value })}
            options={choices.map((column) => ({ value: column, label: nameOf(column) }))}
          />
        </div>
        {choices.length > charts.length && (
          <div className={styles.axis}>
            <Select
              label="Another chart"
              value=""
              onChange={(value) => value && setCharts([...charts.slice(1), value])}
              options={[
                { value: '', label: 'Add a metric…' },
                ...choices
                  .filter((column) => !charts.includes(column))
                  .map((column) => ({ value: column, label: nameOf(column) })),
              ]}
            />
          </div>
        )}
        <Checkbox checked={search.log === true} onChange={(checked) => onSearch({ log: checked || undefined })}>
          Logarithmic
        </Checkbox>
        <label className={styles.smoothing}>
          Smoothing{' '}
          <input
            type="range"
            min={0}
            max={smoothMax}
            value={smooth}
            onChange={(event) => onSearch({ smooth: Number(event.target.value) || undefined })}
          />{' '}
          {smooth} %
        </label>
      </div>
      <div className={charts.length > 1 ? styles.charts : undefined}>
        {charts.map((column, index) => (
          <Chart
            key={column}
            repository={repository}
            runs={runs}
            metric={column}
            log={search.log === true}
            smooth={smooth}
            onRemove={index === 0 ? undefined : () => setCharts(charts.slice(1).filter((item) => item !== column))}
          />
        ))}
      </div>
    </div>
  );
}

interface ChartProps {
  repository: string;
  runs: readonly ListedRun[];
  metric: string;
  log: boolean;
  smooth: number;
  onRemove: (() => void) | undefined;
}

/** The curves of one metric. */
function Chart({ repository, runs, metric, log, smooth, onRemove }: ChartProps) {
  const parts = useMemo(
    () =>
      Array.from({ length: Math.ceil(runs.length / curvesOfOne) }, (_, part) =>
        runs.slice(part * curvesOfOne, (part + 1) * curvesOfOne),
      ),
    [runs],
  );
  const curves = useQueries({
    queries: parts.map((part) =>
      curvesQuery(
        repository,
        part.map((run) => run.id),
        nameOf(metric),
        part.some(isLive),
      ),
    ),
  });
  const waiting = parts.reduce((sum, part, index) => sum + (curves[index]?.isLoading ? part.length : 0), 0);
  const slow = useSlow(waiting > 0);
  const failed = curves.find((curve) => curve.error);
  const arrived = curves.map((curve) => curve.dataUpdatedAt).join();
  const shown = useMemo(
    () =>
      parts.flatMap((part, index) =>
        part.flatMap((run) => {
          const curve = curves[index]?.data?.get(run.id);
          return curve ? [{ run, curve: { ...curve, values: smoothed(curve.values, smooth / 100) } }] : [];
        }),
      ),
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the curves as the times of their arrival
    [parts, metric, arrived, smooth],
  );
  const cut = shown.filter((item) => item.curve.isCut).length;
  const sampled = shown.filter((item) => item.curve.isSampled).length;
  return (
    <div className="stack-tight">
      <div className={styles.controls}>
        {onRemove && (
          <span>
            <strong>{nameOf(metric)}</strong>
          </span>
        )}
        <span className="muted" role="status">
          {counted(shown.length, 'curve')} of {counted(runs.length, 'run')}
          {cut > 0 ? `; ${cut} cut at 10,000 points` : ''}
          {sampled > 0 ? `; ${sampled} by their lowest and highest points` : ''}
        </span>
        {onRemove && <IconButton icon="close" label={`Remove the chart of ${nameOf(metric)}`} onPress={onRemove} />}
      </div>
      {slow && (
        <Progress label="Curves" value={1 - waiting / runs.length}>
          {counted(waiting, 'curve')} to go
        </Progress>
      )}
      {failed?.error ? <p role="alert">{asError(failed.error).message}</p> : null}
      {waiting === 0 && shown.length === 0 ? (
        <EmptyState icon="chart" command={`tarn fs upload metrics.csv tarn://${repository}/BRANCH/metrics/curve.csv`}>
          These runs have written no curve of {nameOf(metric)}, and no file of their commits has one. A CSV or
          JSON-lines file below metrics/ with a column "step" is one.
        </EmptyState>
      ) : (
        <Plot shown={shown} log={log} label={nameOf(metric)} />
      )}
    </div>
  );
}

/** An exponential moving average without a bias to zero; what is no finite number is left as it is. */
export function smoothed(values: readonly number[], weight: number): number[] {
  if (weight === 0) return [...values];
  let sum = 0;
  let weights = 0;
  return values.map((value) => {
    if (!Number.isFinite(value)) return value;
    sum = sum * weight + value * (1 - weight);
    weights = weights * weight + (1 - weight);
    return sum / weights;
  });
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
  return run.name || `${run.branch || run.experiment} ${run.id.slice(0, 12)}`;
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
