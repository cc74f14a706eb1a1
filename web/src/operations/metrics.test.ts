import { describe, expect, it } from 'vitest';
import { parseMetrics, quantile, rate, total } from './metrics';

const before = parseMetrics('# HELP x\nx_total{op="a b\\"}"} 5\nx_total{op="c"} 1\ng 3\nbroken line {\n', 100);
const after = parseMetrics('x_total{op="a b\\"}"} 9\nx_total{op="c"} 3\ng 2\ny +Inf\nz NaN\n', 102);

describe('metrics', () => {
  it('are parsed and summed', () => {
    expect([
      total(after, 'x_total'),
      total(after, 'x_total', /op="c"/),
      total(after, 'g'),
      total(after, 'none'),
      total(after, 'z'),
    ]).toEqual([12, 3, 2, undefined, undefined]);
  });
  it('give rates, also after a restart', () => {
    expect(rate(before, after, 'x_total')).toBe(3);
    expect(rate(after, parseMetrics('x_total 4', 104), 'x_total')).toBe(2);
    expect(rate(after, after, 'x_total')).toBeUndefined();
  });
  it('give quantiles of what happened in between', () => {
    const buckets = (a: number, b: number, c: number) =>
      `t_bucket{le="0.1"} ${a}\nt_bucket{le="1"} ${b}\nt_bucket{le="+Inf"} ${c}\n`;
    const from = parseMetrics(buckets(10, 10, 10), 0);
    expect(quantile(from, parseMetrics(buckets(10, 20, 20), 1), 't', 0.5)).toBeCloseTo(0.55);
    expect(quantile(from, parseMetrics(buckets(20, 20, 20), 1), 't', 0.5)).toBeCloseTo(0.05);
    expect(quantile(from, parseMetrics(buckets(10, 10, 20), 1), 't', 0.99)).toBe(1);
    expect(quantile(from, from, 't', 0.5)).toBeUndefined();
  });
});
