import { describe, expect, it } from 'vitest';
import { crumbs, extensionOf, folderOf, isPlainPath, nameOf } from './paths';

describe('keys as a tree', () => {
  it('have folders on their way', () => {
    expect(crumbs('')).toEqual([]);
    expect(crumbs('a/b/')).toEqual([
      { label: 'a', prefix: 'a/' },
      { label: 'b', prefix: 'a/b/' },
    ]);
    expect(crumbs('a//b')).toEqual([
      { label: 'a', prefix: 'a/' },
      { label: '(empty)', prefix: 'a//' },
      { label: 'b', prefix: 'a//b' },
    ]);
  });
  it('have a folder and a name that make the key again', () => {
    for (const path of ['a', 'a/b', 'a/', 'a//', '/', '/a', 'a/b/c.txt'])
      expect(folderOf(path) + nameOf(path)).toBe(path);
    expect([folderOf('a/b'), folderOf('a/b/'), folderOf('a'), nameOf('a/b/')]).toEqual(['a/', 'a/', '', 'b/']);
  });
  it('are plain if a disk has them under the same path', () => {
    const plain = ['a', 'a/b.c', 'a/..b/c..', '...', 'a/', '~', 'a b', 'ä:*?'];
    const other = [
      '/a',
      'a//b',
      'a//',
      '/',
      '.',
      '..',
      './a',
      'a/./b',
      'a/../b',
      'a/..',
      '../a',
      'a\\b',
      'a\nb',
      '\x7f',
    ];
    expect([...plain, ...other].filter(isPlainPath)).toEqual(plain);
  });
  it('have an extension', () => {
    expect(['a/b.PNG', 'a.b/c', '.hidden', 'x.tar.gz', 'x.'].map(extensionOf)).toEqual(['png', '', '', 'gz', '']);
  });
});
