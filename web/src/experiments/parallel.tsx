import { useCallback, useMemo, useRef, useState } from 'react';
import { counted } from '@/ui/format';
import { EmptyState } from '@/ui/states';
import { Canvas, type Size, themeColour, useIsDark, useSize } from './chart';
import { axisOf } from './scatter';
import { isMetric, type ListedRun, nameOf, valueOf } from './run_values';
import { rangeOf, share } from './statistics';
import styles from './experiments.module.css';

const height = 440;
const frame = { side: 56, top: 40, bottom: 16 };
const axisWidthMin = 104;

interface ParallelProps {
  runs: readonly ListedRun[];
  columns: readonly string[];
  /** The column whose values colour the lines. */
  by: string | undefined;
  /** Conditions for a part of an axis of numbers. */
  onNarrow: (conditions: string[]) => void;
}

/** One line for each run over one axis for each column. A drag along an axis of numbers filters. */
export function Parallel({ runs, columns, by, onNarrow }: ParallelProps) {
  const box = useRef<HTMLDivElement>(null);
  const outer = useSize(box, height);
  const size = { width: Math.max(outer.width, columns.length * axisWidthMin + 2 * frame.side), height };
  const isDark = useIsDark();
  const [drag, setDrag] = useState<{ axis: number; from: number; to: number }>();
  const axes = useMemo(() => columns.map((column) => axisOf(runs, column)), [runs, columns]);
  const range = useMemo(
    () => (by === undefined ? undefined : rangeOf(runs.map((run) => valueOf(run, by)?.number ?? Number.NaN))),
    [runs, by],
  );
  const xOf = (index: number) =>
    columns.length === 1 ? size.width / 2 : frame.side + (index * (size.width - 2 * frame.side)) / (columns.length - 1);

  const draw = useCallback(
    (context: CanvasRenderingContext2D, { width }: Size) => {
      const bottom = height - frame.bottom;
      const place = (index: number) =>
        axes.length === 1 ? width / 2 : frame.side + (index * (width - 2 * frame.side)) / (axes.length - 1);
      context.lineWidth = runs.length > 500 ? 0.6 : 1.2;
      const alpha = runs.length > 2000 ? 0.15 : runs.length > 200 ? 0.4 : 0.8;
      for (const run of runs) {
        const value = by === undefined ? undefined : valueOf(run, by)?.number;
        const at = value !== undefined && range && Number.isFinite(value) ? share(value, range) : 0;
        // From grey over blue to teal: the middle of the scale differs in lightness too.
        context.strokeStyle = `hsl(${260 - 90 * at} ${20 + 60 * at}% ${isDark ? 45 + 25 * at : 62 - 32 * at}% / ${alpha})`;
        context.beginPath();
        let down = false;
        axes.forEach((axis, index) => {
          const high = axis.place(run);
          if (high === undefined) {
            down = false;
            return;
          }
          const y = bottom - high * (bottom - frame.top);
          if (down) context.lineTo(place(index), y);
          else context.moveTo(place(index), y);
          down = true;
        });
        context.stroke();
      }
      context.font = '12px system-ui';
      context.textAlign = 'center';
      const [text, muted, border, surface] = [
        themeColour('--text'),
        themeColour('--muted'),
        themeColour('--border-strong'),
        themeColour('--bg'),
      ];
      axes.forEach((axis, index) => {
        const x = place(index);
        context.strokeStyle = border;
        context.lineWidth = 1;
        context.beginPath();
        context.moveTo(x, frame.top);
        context.lineTo(x, bottom);
        context.stroke();
        const name = nameOf(axis.column);
        context.fillStyle = text;
        context.fillText(name.length > 15 ? `${name.slice(0, 14)}…` : name, x, 18);
        for (const mark of axis.marks) {
          const y = bottom - mark.at * (bottom - frame.top);
          const wide = context.measureText(mark.label).width;
          context.fillStyle = surface;
          context.globalAlpha = 0.8;
          context.fillRect(x - wide / 2 - 2, y - 8, wide + 4, 14);
          context.globalAlpha = 1;
          context.fillStyle = muted;
          context.fillText(mark.label, x, y + 4);
        }
      });
    },
    [runs, axes, by, range, isDark],
  );

  const finish = () => {
    if (!drag || Math.abs(drag.from - drag.to) < 6) return setDrag(undefined);
    const column = columns[drag.axis]!;
    const values = rangeOf(runs.map((run) => valueOf(run, column)?.number ?? Number.NaN));
    setDrag(undefined);
    if (!values || runs.some((run) => Number.isNaN(valueOf(run, column)?.number ?? 0))) return;
    const at = (y: number) =>
      values.min + ((height - frame.bottom - y) / (height - frame.bottom - frame.top)) * (values.max - values.min);
    const [low, high] = [at(Math.max(drag.from, drag.to)), at(Math.min(drag.from, drag.to))];
    onNarrow([`${column}>=${Number(low.toPrecision(6))}`, `${column}<=${Number(high.toPrecision(6))}`]);
  };
  if (columns.length < 2)
    return <EmptyState icon="chart">Parallel coordinates need two columns. Choose them under Columns.</EmptyState>;
  return (
    <div className="stack-tight">
      <p className="muted" role="status">
        {counted(runs.length, 'run')}
        {by !== undefined && isMetric(by) ? `; a stronger colour is a higher ${nameOf(by)}` : ''}. Drag along an axis of
        numbers to filter.
      </p>
      <div
        ref={box}
        className={styles.chart}
        tabIndex={0}
        role="group"
        aria-label="Chart"
        onMouseUp={finish}
        onMouseLeave={() => setDrag(undefined)}
        onMouseDown={(event) => {
          const area = event.currentTarget.getBoundingClientRect();
          const x = event.clientX - area.left + event.currentTarget.scrollLeft;
          const axis = columns.findIndex((_, index) => Math.abs(xOf(index) - x) < 16);
          if (axis >= 0) {
            event.preventDefault();
            setDrag({ axis, from: event.clientY - area.top, to: event.clientY - area.top });
          }
        }}
        onMouseMove={(event) => {
          if (drag) setDrag({ ...drag, to: event.clientY - event.currentTarget.getBoundingClientRect().top });
        }}
      >
        <Canvas
          {...size}
          draw={draw}
          label={`Parallel coordinates of ${counted(runs.length, 'run')} over ${columns.map(nameOf).join(', ')}; the table has the values`}
        />
        {drag && (
          <div
            className={styles.brush}
            style={{
              left: xOf(drag.axis) - 8,
              top: Math.min(drag.from, drag.to),
              height: Math.abs(drag.from - drag.to),
            }}
          />
        )}
      </div>
    </div>
  );
}
