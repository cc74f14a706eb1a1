import { expect, it } from 'vitest';
import { literalGlob, resolutionsOf } from './resolutions';

it('a path is a pattern that matches it alone', () => {
  expect(literalGlob('a/b c.txt')).toBe('a/b c.txt');
  expect(literalGlob('a/[1]*{x}?\\')).toBe('a/\\[1\\]\\*\\{x\\}\\?\\\\');
});

it('decisions for single paths go before patterns, and empty patterns are left out', () => {
  expect(
    resolutionsOf(new Map([['a*', 'dest']]), [
      { glob: '**', take: 'source' },
      { glob: ' ', take: 'dest' },
    ]),
  ).toEqual([
    { glob: 'a\\*', take: 'dest' },
    { glob: '**', take: 'source' },
  ]);
});
