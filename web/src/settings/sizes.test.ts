import { describe, expect, it } from 'vitest';
import { parseSize, writeSize } from './sizes';

describe('sizes', () => {
  it.each([
    ['500 GB', 500e9],
    ['1.5TiB', 1.5 * 2 ** 40],
    ['1,000,000', 1e6],
    ['0', 0],
    [' 7 mb ', 7e6],
  ])('are read: %s', (text, value) => {
    expect(parseSize(text)).toBe(value);
  });
  it.each(['many', '-1', '1 XB', '1.2.3', '9999999 PB'])('are refused: %s', (text) => {
    expect(parseSize(text)).toBeNull();
  });
  it('are absent when nothing is written', () => {
    expect(parseSize('  ')).toBeUndefined();
  });
  it.each([0, 1, 999, 500e9, 2 ** 30, 3 * 2 ** 40, 1_234_567])('are written without loss: %d', (value) => {
    expect(parseSize(writeSize(value))).toBe(value);
  });
});
