// Figures of many runs: ranges, quartiles, groups, correlation, and ticks of axes.

export interface Range {
  min: number;
  max: number;
}

/** Of the finite values; undefined without any. */
export function rangeOf(values: Iterable<number>): Range | undefined {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  return min <= max ? { min, max } : undefined;
}

/** 0 to 1; a range of one value is in the middle. */
export function share(value: number, range: Range): number {
  return range.max === range.min ? 0.5 : (value - range.min) / (range.max - range.min);
}

export interface Box {
  count: number;
  min: number;
  low: number;
  median: number;
  high: number;
  max: number;
  mean: number;
}

/** Quartiles by linear interpolation, of the finite values. */
export function boxOf(values: readonly number[]): Box | undefined {
  const sorted = values.filter(Number.isFinite).sort((a, b) => a - b);
  if (sorted.length === 0) return undefined;
  const at = (quantile: number) => {
    const position = (sorted.length - 1) * quantile;
    const below = Math.floor(position);
    const low = sorted[below]!;
    return low + (position - below) * ((sorted[below + 1] ?? low) - low);
  };
  const mean = sorted.reduce((sum, value) => sum + value, 0) / sorted.length;
  return {
    count: sorted.length,
    min: sorted[0]!,
    low: at(0.25),
    median: at(0.5),
    high: at(0.75),
    max: sorted[sorted.length - 1]!,
    mean,
  };
}

export interface Correlation {
  /** -1 to 1 for numbers (Pearson); 0 to 1 for texts (correlation ratio). */
  value: number;
  kind: 'number' | 'text';
  count: number;
}

/** How a metric follows a parameter; undefined with fewer than three pairs or a constant side. */
export function correlation(
  pairs: readonly { param: string; number: number; metric: number }[],
): Correlation | undefined {
  const usable = pairs.filter((pair) => Number.isFinite(pair.metric));
  if (usable.length < 3) return undefined;
  const mean = usable.reduce((sum, pair) => sum + pair.metric, 0) / usable.length;
  const spread = usable.reduce((sum, pair) => sum + (pair.metric - mean) ** 2, 0);
  if (spread === 0) return undefined;
  if (usable.every((pair) => Number.isFinite(pair.number))) {
    const middle = usable.reduce((sum, pair) => sum + pair.number, 0) / usable.length;
    let both = 0;
    let own = 0;
    for (const pair of usable) {
      both += (pair.number - middle) * (pair.metric - mean);
      own += (pair.number - middle) ** 2;
    }
    return own === 0 ? undefined : { value: both / Math.sqrt(own * spread), kind: 'number', count: usable.length };
  }
  const groups = new Map<string, number[]>();
  for (const pair of usable) groups.set(pair.param, [...(groups.get(pair.param) ?? []), pair.metric]);
  if (groups.size < 2) return undefined;
  let between = 0;
  for (const values of groups.values()) {
    const own = values.reduce((sum, value) => sum + value, 0) / values.length;
    between += values.length * (own - mean) ** 2;
  }
  return { value: Math.sqrt(between / spread), kind: 'text', count: usable.length };
}

/** Round numbers within the range, about `wanted` of them. */
export function ticks(range: Range, wanted = 5): number[] {
  const span = range.max - range.min;
  if (span === 0) return [range.min];
  const rough = span / Math.max(1, wanted);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  const out: number[] = [];
  for (let index = Math.ceil(range.min / step - 1e-9); index * step <= range.max + step * 1e-9; ++index)
    out.push(Number((index * step).toPrecision(12)));
  return out;
}

/** Texts in the order of their numbers, else by name. */
export function inOrder(values: Iterable<string>): string[] {
  return [...values].sort((a, b) => {
    const difference = Number(a) - Number(b);
    return Number.isNaN(difference) ? a.localeCompare(b, 'en', { numeric: true }) : difference;
  });
}
