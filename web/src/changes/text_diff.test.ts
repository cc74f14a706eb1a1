import { describe, expect, it } from 'vitest';
import { differingPart, diffLines, editsMax, hunksOf, pairsOf, splitLines } from './text_diff';

const shown = (left: string, right: string) =>
  diffLines(splitLines(left), splitLines(right))
    .map((line) => ({ same: ' ', removed: '-', added: '+' })[line.kind] + line.text)
    .join('|');

/** Both sides, rebuilt from the lines. */
function sides(left: string[], right: string[]) {
  const lines = diffLines(left, right);
  return [
    lines.filter((line) => line.kind !== 'added').map((line) => line.text),
    lines.filter((line) => line.kind !== 'removed').map((line) => line.text),
  ];
}

describe('a diff of lines', () => {
  it('is shortest', () => {
    expect(shown('a\nb\nc\n', 'a\nx\nc\n')).toBe(' a|-b|+x| c');
    expect(shown('', 'a\n')).toBe('+a');
    expect(shown('a', '')).toBe('-a');
    expect(shown('a\nb', 'a\nb\n')).toBe(' a| b');
    expect(diffLines([...'abcabba'], [...'cbabac']).filter((line) => line.kind !== 'same')).toHaveLength(5);
  });
  it('has both sides whatever they are', () => {
    let seed = 7;
    const random = (below: number) => (seed = (seed * 1103515245 + 12345) % 2147483648) % below;
    for (let round = 0; round < 300; ++round) {
      const left = Array.from({ length: random(12) }, () => 'abc'[random(3)]!);
      const right = Array.from({ length: random(12) }, () => 'abc'[random(3)]!);
      expect(sides(left, right)).toEqual([left, right]);
    }
  });
  it('numbers lines of both sides', () => {
    expect(diffLines(['a', 'b'], ['x', 'b'])).toEqual([
      { kind: 'removed', text: 'a', left: 1 },
      { kind: 'added', text: 'x', right: 1 },
      { kind: 'same', text: 'b', left: 2, right: 2 },
    ]);
  });
  it('ends when everything differs', () => {
    const left = Array.from({ length: 2 * editsMax }, (_, at) => `l${at}`);
    const right = Array.from({ length: 2 * editsMax }, (_, at) => `r${at}`);
    expect(sides(left, right)).toEqual([left, right]);
  });
});

describe('showing', () => {
  const many = Array.from({ length: 20 }, (_, at) => `${at}`);
  it('hides equal lines far from changes', () => {
    const hunks = hunksOf(
      diffLines(
        many,
        many.map((line) => (line === '10' ? 'x' : line)),
      ),
      2,
    );
    expect(hunks.map((hunk) => [hunk.hidden.length, hunk.lines.length])).toEqual([
      [8, 6],
      [7, 0],
    ]);
    expect(hunksOf(diffLines(many, many))).toMatchObject([{ lines: [] }]);
    expect(hunksOf([])).toEqual([]);
  });
  it('puts changed lines beside each other', () => {
    expect(pairsOf(diffLines(['a', 'b', 'z'], ['x', 'z'])).map((pair) => [pair.left?.text, pair.right?.text])).toEqual([
      ['a', 'x'],
      ['b', undefined],
      ['z', 'z'],
    ]);
  });
  it('finds what differs within a line', () => {
    expect(differingPart('line b', 'line Bc')).toEqual([5, 6, 7]);
    expect(differingPart('aa', 'aaa')).toEqual([2, 2, 3]);
  });
});
