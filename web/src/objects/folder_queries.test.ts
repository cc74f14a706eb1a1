import { describe, expect, it } from 'vitest';
import { patternOf, sortedFolders } from './folder_queries';

const sizes = new Map([
  ['a/', { objects: 1, bytes: 30 }],
  ['b/', { objects: 9, bytes: 10 }],
  ['c/', { objects: 5, bytes: 30 }],
]);

describe('folders in an order', () => {
  it.each([
    ['size', false, ['b/', 'a/', 'c/']],
    ['size', true, ['c/', 'a/', 'b/']],
    ['path', true, ['c/', 'b/', 'a/']],
    ['modified', false, ['a/', 'b/', 'c/']],
  ])('by %s, descending %s', (by, descending, paths) => {
    expect(sortedFolders(sizes, { by, descending }).map(({ path }) => path)).toEqual(paths);
  });
});

it('means the characters of a prefix by themselves', () => {
  expect(patternOf('')).toBe('*');
  expect(patternOf('a/b/')).toBe('a/b/*');
  expect(patternOf('a*b?[c]{d}\\/')).toBe('a\\*b\\?\\[c\\]\\{d\\}\\\\/*');
});
