import { useNavigate } from '@tanstack/react-router';
import { useCallback, useMemo, useRef, useState } from 'react';
import { Select } from '@/ui/field';
import { counted } from '@/ui/format';
import { EmptyState } from '@/ui/states';
import { Canvas, colourOf, type Size, themeColour, useIsDark, useSize } from './chart';
import type { RunsSearch } from './runs_search';
import { type ListedRun, nameOf, shownNumber, shownValue, valueOf } from './run_values';
import { inOrder, rangeOf, share, ticks } from './statistics';
import styles from './experiments.module.css';

const height = 440;
const frame = { left: 72, right: 16, top: 12, bottom: 44 };
const near = 12;

export interface Axis {
  column: string;
  /** 0 to 1; undefined if the run has no value that can be drawn. */
  place: (run: ListedRun) => number | undefined;
  marks: { at: number; label: string }[];
}

/** Numbers on a scale, texts side by side. */
export function axisOf(runs: readonly ListedRun[], column: string): Axis {
  const values = runs.map((run) => valueOf(run, column)).filter((value) => value !== undefined);
  if (values.every((value) => !Number.isNaN(value.number) || value.text === 'NaN')) {
    const range = rangeOf(values.map((value) => value.number)) ?? { min: 0, max: 1 };
    return {
      column,
      place: (run) => {
        const value = valueOf(run, column);
        return value && Number.isFinite(value.number) ? share(value.number, range) : undefined;
      },
      marks: ticks(range).map((value) => ({ at: share(value, range), label: shownNumber(value) })),
    };
  }
  const texts = inOrder(new Set(values.map((value) => value.text)));
  const places = new Map(texts.map((text, index) => [text, texts.length === 1 ? 0.5 : index / (texts.length - 1)]));
  const step = Math.ceil(texts.length / 12);
  return {
    column,
    place: (run) => {
      const value = valueOf(run, column);
      return value && places.get(value.text);
    },
    marks: texts.flatMap((text, index) =>
      index % step === 0 ? [{ at: places.get(text)!, label: text.length > 18 ? `${text.slice(0, 17)}…` : text }] : [],
    ),
  };
}

interface ScatterProps {
  repository: string;
  runs: readonly ListedRun[];
  columns: readonly string[];
  x: string;
  y: string;
  onSearch: (change: Partial<RunsSearch>) => void;
}

/** Two columns of all runs of the filter; a click opens the run. */
export function Scatter({ repository, runs, columns, x, y, onSearch }: ScatterProps) {
  const box = useRef<HTMLDivElement>(null);
  const size = useSize(box, height);
  const isDark = useIsDark();
  const navigate = useNavigate();
  const [hovered, setHovered] = useState<ListedRun>();
  const across = useMemo(() => axisOf(runs, x), [runs, x]);
  const up = useMemo(() => axisOf(runs, y), [runs, y]);
  const points = useMemo(
    () =>
      runs.flatMap((run) => {
        const right = across.place(run);
        const high = up.place(run);
        if (right === undefined || high === undefined) return [];
        return [
          {
            run,
            x: frame.left + right * (size.width - frame.left - frame.right),
            y: height - frame.bottom - high * (height - frame.top - frame.bottom),
          },
        ];
      }),
    [runs, across, up, size.width],
  );

  const draw = useCallback(
    (context: CanvasRenderingContext2D, { width }: Size) => {
      drawAxes(context, width, across, up);
      context.fillStyle = colourOf(0, isDark, points.length > 1000 ? 0.35 : 0.7);
      for (const point of points) {
        context.beginPath();
        context.arc(point.x, point.y, points.length > 1000 ? 3 : 5, 0, 2 * Math.PI);
        context.fill();
      }
      const marked = points.find((point) => point.run === hovered);
      if (marked) {
        context.strokeStyle = themeColour('--text');
        context.lineWidth = 2;
        context.beginPath();
        context.arc(marked.x, marked.y, 7, 0, 2 * Math.PI);
        context.stroke();
      }
    },
    [points, across, up, isDark, hovered],
  );
  const nearest = (atX: number, atY: number) => {
    let best: ListedRun | undefined;
    let distance = near * near;
    for (const point of points) {
      const far = (point.x - atX) ** 2 + (point.y - atY) ** 2;
      if (far < distance) [best, distance] = [point.run, far];
    }
    return best;
  };
  const options = columns.map((column) => ({ value: column, label: column }));
  const marked = hovered && points.find((point) => point.run === hovered);
  return (
    <div className="stack-tight">
      <div className={styles.controls}>
        <div className={styles.axis}>
          <Select label="Across" value={x} onChange={(value) => onSearch({ x: value })} options={options} />
        </div>
        <div className={styles.axis}>
          <Select label="Up" value={y} onChange={(value) => onSearch({ y: value })} options={options} />
        </div>
        <span className="muted" role="status">
          {counted(points.length, 'run')} with both values
        </span>
      </div>
      <div ref={box} className={styles.chart}>
        {points.length === 0 ? (
          <EmptyState icon="chart">No run has both values.</EmptyState>
        ) : (
          <Canvas
            {...size}
            draw={draw}
            label={`${nameOf(y)} over ${nameOf(x)} of ${counted(points.length, 'run')}; the table has the values`}
            onMove={(atX, atY) => setHovered(nearest(atX, atY))}
            onLeave={() => setHovered(undefined)}
            onPress={(atX, atY) => {
              const run = nearest(atX, atY);
              if (run) void navigate({ to: '/r/$repository/-/runs/$run', params: { repository, run: run.id } });
            }}
          />
        )}
        {marked && (
          <div className={styles.tip} style={{ left: Math.min(marked.x + 12, size.width - 232), top: marked.y + 12 }}>
            <strong>{marked.run.branch || marked.run.experiment}</strong>{' '}
            <span className="mono">{marked.run.id.slice(0, 12)}</span>
            <div>
              {nameOf(x)} {shownValue(valueOf(marked.run, x)!)}
            </div>
            <div>
              {nameOf(y)} {shownValue(valueOf(marked.run, y)!)}
            </div>
          </div>
        )}
      </div>
    </div>
  );
}

function drawAxes(context: CanvasRenderingContext2D, width: number, across: Axis, up: Axis) {
  const bottom = height - frame.bottom;
  const right = width - frame.right;
  context.font = '12px system-ui';
  context.fillStyle = themeColour('--muted');
  context.strokeStyle = themeColour('--border');
  context.lineWidth = 1;
  context.textAlign = 'center';
  for (const mark of across.marks) {
    const x = frame.left + mark.at * (right - frame.left);
    context.beginPath();
    context.moveTo(x, frame.top);
    context.lineTo(x, bottom);
    context.stroke();
    context.fillText(mark.label, x, bottom + 16);
  }
  context.textAlign = 'right';
  for (const mark of up.marks) {
    const y = bottom - mark.at * (bottom - frame.top);
    context.beginPath();
    context.moveTo(frame.left, y);
    context.lineTo(right, y);
    context.stroke();
    context.fillText(mark.label, frame.left - 8, y + 4);
  }
  context.textAlign = 'center';
  context.fillText(nameOf(across.column), (frame.left + right) / 2, height - 8);
  context.save();
  context.translate(12, (frame.top + bottom) / 2);
  context.rotate(-Math.PI / 2);
  context.fillText(nameOf(up.column), 0, 0);
  context.restore();
}
