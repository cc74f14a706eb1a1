import { describe, expect, it } from 'vitest';
import { changesMax, structureDiff } from './structure_diff';

describe('a diff by structure', () => {
  it('names the members that differ', () => {
    expect(
      structureDiff({ lr: 0.1, layers: [1, 2, 3], a: { b: 1 } }, { lr: 0.2, layers: [1, 3], seed: 7, a: { b: 1 } }),
    ).toEqual([
      { kind: 'changed', path: 'lr', before: 0.1, after: 0.2 },
      { kind: 'removed', path: 'layers[1]', before: 2 },
      { kind: 'added', path: 'seed', after: 7 },
    ]);
  });
  it('ignores the order of members and tells types apart', () => {
    expect(structureDiff({ a: 1, b: 2 }, { b: 2, a: 1 })).toEqual([]);
    expect(structureDiff({ a: [] }, { a: {} })).toEqual([{ kind: 'changed', path: 'a', before: [], after: {} }]);
    expect(structureDiff(null, 1)).toEqual([{ kind: 'changed', path: '', before: null, after: 1 }]);
  });
  it('is not misled by names of the language', () => {
    const hostile: unknown = JSON.parse('{"__proto__": 1, "a b": 2}');
    expect(structureDiff({}, hostile).map((change) => change.path)).toEqual(['__proto__', '["a b"]']);
    expect(structureDiff({ toString: 1 }, {})).toEqual([{ kind: 'removed', path: 'toString', before: 1 }]);
  });
  it('ends', () => {
    expect(
      structureDiff(
        [],
        Array.from({ length: 5 * changesMax }, (_, at) => at),
      ),
    ).toHaveLength(changesMax);
  });
});
