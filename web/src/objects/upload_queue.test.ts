import { describe, expect, it } from 'vitest';
import { partSizes } from './upload_queue';

describe('parts of a file', () => {
  it('cover it, of equal size but for the last', () => {
    for (const bytes of [1, 16 << 20, (16 << 20) + 1, 100 << 20, 5e12]) {
      const sizes = partSizes(bytes);
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(bytes);
      expect(sizes.length).toBeLessThanOrEqual(10_000);
      expect(sizes.slice(0, -1).every((size) => size === sizes[0])).toBe(true);
      expect(sizes[0]!).toBeGreaterThanOrEqual(Math.min(bytes, 16 << 20));
    }
  });
});
