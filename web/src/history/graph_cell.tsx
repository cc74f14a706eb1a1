import type { GraphRow } from './graph';
import styles from './history.module.css';

const step = 12;
const height = 32;
/** Lanes that are drawn; commits of lanes further right are drawn in the last one. */
export const lanesMax = 10;
const colours = ['var(--accent)', 'var(--waiting)', 'var(--changed)', 'var(--added)', 'var(--removed)', 'var(--muted)'];

export function graphWidth(lanes: number): number {
  return Math.min(lanes, lanesMax) * step + 8;
}

/** One row of the graph; the text beside it says the same in words. */
export function GraphCell({ row, lanes, merge }: { row: GraphRow; lanes: number; merge: boolean }) {
  const x = (lane: number) => Math.min(lane, lanesMax - 1) * step + 8;
  const middle = height / 2;
  return (
    <svg className={styles.graph} width={graphWidth(lanes)} height={height} aria-hidden="true">
      {row.lines.map((line, at) => {
        const from = x(line.from);
        const to = x(line.to);
        const [top, bottom] = line.part === 'in' ? [0, middle] : line.part === 'out' ? [middle, height] : [0, height];
        const half = (top + bottom) / 2;
        return (
          <path
            key={at}
            d={
              from === to
                ? `M${from} ${top}V${bottom}`
                : `M${from} ${top}C${from} ${half} ${to} ${half} ${to} ${bottom}`
            }
            fill="none"
            strokeWidth={1.6}
            stroke={colours[(line.part === 'in' ? line.from : line.to) % colours.length]}
          />
        );
      })}
      <circle
        cx={x(row.lane)}
        cy={middle}
        r={4}
        fill={merge ? 'var(--bg)' : colours[row.lane % colours.length]}
        stroke={colours[row.lane % colours.length]}
        strokeWidth={1.6}
      />
    </svg>
  );
}
