import { describe, expect, it } from 'vitest';
import { flag, integer, oneOf, parseSearch, stringifySearch, text, texts } from './search_params';

describe('search parameters', () => {
  it('survive the address bar whatever they hold', () => {
    const values = { path: 'a b/ü/%41?#&=+"<script>/..//x', q: '123', label: ['a,b', 'c&d'], on: true };
    const parsed = parseSearch(stringifySearch(values).slice(1));
    expect(parsed).toEqual({ path: values.path, q: '123', label: ['a,b', 'c&d'], on: '1' });
  });
  it('are readable', () => {
    expect(stringifySearch({ path: 'images/2/', ref: '@champion' })).toBe('?path=images/2/&ref=@champion');
    expect(stringifySearch({ a: undefined, b: '', c: false, d: [] })).toBe('');
  });
  it('get types, and nonsense is dropped', () => {
    expect([text('x'), text(''), text(['a', 'b']), text(undefined)]).toEqual(['x', undefined, 'a', undefined]);
    expect(texts('a')).toEqual(['a']);
    expect([flag('1'), flag('true'), flag(true), flag('0'), flag(undefined)]).toEqual([
      true,
      true,
      true,
      undefined,
      undefined,
    ]);
    expect([integer('7'), integer('-1'), integer('x'), integer('1e3'), integer('5', 0, 4)]).toEqual([
      7,
      undefined,
      undefined,
      1000,
      undefined,
    ]);
    expect([oneOf('a', ['a', 'b']), oneOf('c', ['a', 'b'])]).toEqual(['a', undefined]);
  });
});
