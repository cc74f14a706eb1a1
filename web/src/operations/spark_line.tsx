import styles from './operations.module.css';

const width = 240;
const height = 56;

/** A small chart of the last minutes; the newest value is beside it in words. */
export function SparkLine({
  title,
  values,
  format,
}: {
  title: string;
  values: readonly (number | undefined)[];
  format: (value: number) => string;
}) {
  const known = values.filter((value) => value !== undefined);
  const newest = known[known.length - 1];
  const most = Math.max(...known, 1e-9);
  const step = width / Math.max(1, values.length - 1);
  let path = '';
  let drawing = false;
  values.forEach((value, at) => {
    if (value === undefined) drawing = false;
    else {
      path += `${drawing ? 'L' : 'M'}${(at * step).toFixed(1)} ${(height - 2 - (value / most) * (height - 6)).toFixed(1)}`;
      drawing = true;
    }
  });
  return (
    <figure className={styles.chart}>
      <figcaption>
        {title}
        <strong>{newest === undefined ? 'no data' : format(newest)}</strong>
      </figcaption>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={
          known.length === 0
            ? `${title}: no data yet`
            : `${title}: now ${format(newest!)}, at most ${format(Math.max(...known))}`
        }
      >
        <path d={`M0 ${height - 1}H${width}`} stroke="var(--border)" fill="none" />
        <path d={path} stroke="var(--accent)" strokeWidth={1.6} fill="none" vectorEffect="non-scaling-stroke" />
      </svg>
      <span className="muted">
        {known.length === 0 ? 'Nothing happened yet' : `at most ${format(Math.max(...known))}`}
      </span>
    </figure>
  );
}
