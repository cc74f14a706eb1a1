// Prometheus' text format, and what two samples of it say about the time between them.

export interface Sample {
  /** Seconds since 1970. */
  at: number;
  /** By name, then by labels. */
  values: Map<string, Map<string, number>>;
}

export function parseMetrics(text: string, at: number): Sample {
  const values: Sample['values'] = new Map();
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    const match = /^([A-Za-z_:][\w:]*)(\{.*\})? (\S+)/.exec(line);
    if (!match) continue;
    const value = match[3] === '+Inf' ? Infinity : Number(match[3]);
    if (Number.isNaN(value)) continue;
    let of = values.get(match[1]!);
    if (!of) values.set(match[1]!, (of = new Map()));
    of.set(match[2] ?? '', value);
  }
  return { at, values };
}

/** The sum over all labels; undefined if there is no such metric. */
export function total(sample: Sample, name: string, where?: RegExp): number | undefined {
  const of = sample.values.get(name);
  if (!of) return undefined;
  let sum = 0;
  for (const [labels, value] of of) if (!where || where.test(labels)) sum += value;
  return sum;
}

/** How much a counter grew each second; a restart of the server counts from zero. */
export function rate(before: Sample, after: Sample, name: string, where?: RegExp): number | undefined {
  const from = total(before, name, where) ?? 0;
  const to = total(after, name, where);
  if (to === undefined || after.at <= before.at) return undefined;
  return (to < from ? to : to - from) / (after.at - before.at);
}

/** A quantile of what a histogram counted between two samples, over all labels; undefined if it counted nothing. */
export function quantile(before: Sample, after: Sample, name: string, q: number): number | undefined {
  const counts = new Map<number, number>();
  for (const [sign, sample] of [
    [1, after],
    [-1, before],
  ] as const) {
    for (const [labels, value] of sample.values.get(`${name}_bucket`) ?? []) {
      const bound = /le="([^"]*)"/.exec(labels)?.[1];
      if (bound === undefined) continue;
      const upper = bound === '+Inf' ? Infinity : Number(bound);
      counts.set(upper, (counts.get(upper) ?? 0) + sign * value);
    }
  }
  const bounds = [...counts].sort((a, b) => a[0] - b[0]);
  const all = bounds[bounds.length - 1]?.[1] ?? 0;
  if (all <= 0) return undefined;
  let below = 0;
  let lower = 0;
  for (const [upper, count] of bounds) {
    if (count >= q * all) {
      if (upper === Infinity) return lower;
      return count === below ? upper : lower + ((upper - lower) * (q * all - below)) / (count - below);
    }
    below = count;
    lower = upper;
  }
  return lower;
}
