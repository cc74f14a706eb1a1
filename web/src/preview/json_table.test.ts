import { tableFromIPC } from '@uwdata/flechette';
import { describe, expect, it } from 'vitest';
import { jsonRows, jsonStream } from './json_table';

const rows = (text: string) => tableFromIPC(jsonStream(text), { useBigInt: true }).toArray();

describe('a table of JSON', () => {
  it('is a list of objects, one object in each line, or one object', () => {
    for (const text of ['[{"a":1},{"a":2}]', '{"a":1}\n{"a":2}\n']) expect(rows(text)).toEqual([{ a: 1n }, { a: 2n }]);
    expect(rows('{"a":true}')).toEqual([{ a: true }]);
    for (const text of ['[1, 2]', '"a"', '[{"a":1}, null]', '[[1]]', '{"a":', '[]', '{"a":1}\n2']) {
      expect(() => jsonStream(text), text).toThrow();
    }
  });
  it('has the narrowest type that has all values of a column', () => {
    expect(rows('[{"n":1,"mixed":1},{"n":1.5,"mixed":"x"},{"mixed":{"a":[1]}}]')).toEqual([
      { n: 1, mixed: '1' },
      { n: 1.5, mixed: 'x' },
      { n: null, mixed: '{"a":[1]}' },
    ]);
  });
  it('has NULL where an object has no such member, in structs and lists too', () => {
    const found = rows('[{"s":{"x":1},"l":[1,null]},{"s":{"y":"b"},"l":[]}]');
    expect(found[0]!.s).toEqual({ x: 1n, y: null });
    expect(found[1]!.s).toEqual({ x: null, y: 'b' });
    expect([...(found[0]!.l as Iterable<unknown>)].map((item) => (item === null ? null : Number(item)))).toEqual([
      1,
      null,
    ]);
  });
  it('keeps the digits of integers', () => {
    if (jsonRows('{"a":9007199254740993}')[0]!.a !== 9007199254740993n) return; // a JavaScript without the source of numbers
    expect(rows('[{"a":9007199254740993}]')).toEqual([{ a: 9007199254740993n }]);
  });
});
