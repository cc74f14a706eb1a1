import { describe, expect, it } from 'vitest';
import { leastWidth } from './data_table';
import { visibleColumns } from './visible_columns';

const widths = [100, ...Array.from({ length: 200 }, () => 50)];

describe('visibleColumns', () => {
  it('renders those in view and two on each side', () => {
    expect(visibleColumns(widths, 1, 32, 0, 400)).toEqual([1, 9]);
    expect(visibleColumns(widths, 1, 32, 1132, 400)).toEqual([19, 31]);
  });
  it('reaches the last one, and does not go past it', () => {
    const [first, last] = visibleColumns(widths, 1, 32, 10_132 - 400, 400);
    expect(last).toBe(201);
    expect(first).toBeLessThan(195);
    expect(visibleColumns(widths, 1, 32, 1e9, 400)).toEqual([198, 201]);
  });
  it('renders all where there are few, and none but the pinned where there are none', () => {
    expect(visibleColumns([100, 50, 50], 1, 0, 0, 1000)).toEqual([1, 3]);
    expect(visibleColumns([100], 1, 0, 0, 1000)).toEqual([1, 1]);
  });
});

describe('leastWidth', () => {
  it('is the sum of what each track has at least', () => {
    expect(leastWidth([{ width: '96px' }, { width: 'minmax(160px, 3fr)' }, { width: 'minmax(72px, 1fr)' }], 32)).toBe(
      360,
    );
  });
});
