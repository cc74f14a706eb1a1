import { describe, expect, it } from 'vitest';
import { graphRows, laneCount } from './graph';

const shown = (commits: [string, string[]][]) =>
  graphRows(commits.map(([id, parents]) => ({ id, parents }))).map(
    (row) => `${row.lane}: ${row.lines.map((line) => `${line.part} ${line.from}>${line.to}`).join(', ')}`,
  );

describe('a commit graph', () => {
  it('is one lane for a line of commits', () => {
    expect(
      shown([
        ['c', ['b']],
        ['b', ['a']],
        ['a', []],
      ]),
    ).toEqual(['0: out 0>0', '0: in 0>0, out 0>0', '0: in 0>0']);
  });
  it('has a lane for a branch between its beginning and its merge', () => {
    const rows = shown([
      ['m', ['x', 'y']],
      ['y', ['a']],
      ['x', ['a']],
      ['a', []],
    ]);
    expect(rows).toEqual([
      '0: out 0>0, out 0>1',
      '1: past 0>0, in 1>1, out 1>1',
      '0: in 0>0, past 1>1, out 0>1',
      '1: in 1>1',
    ]);
  });
  it('uses lanes again', () => {
    const commits = [
      ['m2', ['m1', 'y']],
      ['y', ['m1']],
      ['m1', ['b', 'x']],
      ['x', ['b']],
      ['b', []],
    ].map(([id, parents]) => ({ id: id as string, parents: parents as string[] }));
    expect(laneCount(graphRows(commits))).toBe(2);
    expect(laneCount([])).toBe(1);
  });
  it('takes commits whose parents are not shown', () => {
    expect(shown([['c', ['gone']]])).toEqual(['0: out 0>0']);
  });
});
