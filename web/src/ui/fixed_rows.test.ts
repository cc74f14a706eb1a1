import { describe, expect, it } from 'vitest';
import { heightMax, scrollToShow, visibleRows } from './fixed_rows';

describe('visibleRows', () => {
  it('renders what is in view and a few rows around it', () => {
    const at = visibleRows(1000, 32, 3200, 320);
    expect([at.first, at.last, at.height, at.top(100)]).toEqual([90, 120, 32_000, 3200]);
    expect(visibleRows(0, 32, 0, 320)).toMatchObject({ first: 0, last: 0, height: 0 });
    expect(visibleRows(3, 32, 0, 320)).toMatchObject({ first: 0, last: 3, height: 96 });
  });

  it('reaches the first and the last of a million rows in an element that browsers can show', () => {
    const count = 1_000_000;
    const top = visibleRows(count, 32, 0, 640);
    expect(top).toMatchObject({ first: 0, height: heightMax });
    const end = heightMax - 640;
    const bottom = visibleRows(count, 32, end, 640);
    expect(bottom.last).toBe(count);
    // The last row ends where the view ends.
    expect(bottom.top(count - 1) + 32).toBeCloseTo(end + 640, 3);
    // Every row has a position at which it is in view.
    for (const row of [0, 1, 12_345, 500_000, 999_998, 999_999]) {
      const to = scrollToShow(row, count, 32, 7_000_000, 640) ?? 7_000_000;
      const shown = visibleRows(count, 32, to, 640);
      expect(row).toBeGreaterThanOrEqual(shown.first);
      expect(row).toBeLessThan(shown.last);
    }
  });

  it('leaves the position alone when the row is visible', () => {
    expect(scrollToShow(5, 100, 32, 0, 640)).toBeNull();
    expect(scrollToShow(30, 100, 32, 0, 640)).toBe(31 * 32 - 640);
    expect(scrollToShow(1, 100, 32, 320, 640)).toBe(32);
  });
});
