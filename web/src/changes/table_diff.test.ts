import { describe, expect, it } from 'vitest';
import { columnChanges, factsOfRows, rowCounts } from './table_diff';

const before = [
  ['id', 'label'],
  ['1', 'a'],
  ['2', ''],
  ['10', 'c'],
];
const after = [
  ['id', 'label', 'score'],
  ['1', 'a', '0.5'],
  ['2', 'b', ''],
];

describe('a diff of tables', () => {
  it('has types, empty values, least and greatest', () => {
    expect(factsOfRows(before, false).columns).toEqual([
      { name: 'id', type: 'integer', empty: 0, least: '1', greatest: '10' },
      { name: 'label', type: 'text', empty: 1, least: 'a', greatest: 'c' },
    ]);
    expect(factsOfRows([], false)).toEqual({ rows: 0, columns: [], partial: false });
  });
  it('says which columns are new, gone and different', () => {
    const changes = columnChanges(factsOfRows(after, false), factsOfRows(before, false));
    expect(changes.map((change) => `${change.kind} ${change.name}`)).toEqual([
      'changed id',
      'changed label',
      'removed score',
    ]);
    expect(columnChanges(undefined, factsOfRows(after, false)).every((change) => change.kind === 'added')).toBe(true);
  });
  it('counts rows whatever their order', () => {
    expect(rowCounts([['h'], ['a'], ['b'], ['b']], [['h'], ['b'], ['c'], ['a']])).toEqual({
      same: 2,
      added: 1,
      removed: 1,
    });
    expect(rowCounts([], [['h'], ['x']])).toEqual({ same: 0, added: 1, removed: 0 });
  });
});
