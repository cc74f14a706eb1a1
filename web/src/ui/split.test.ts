import { expect, it } from 'vitest';
import { shareOf } from './split';

it('leaves both panes some room', () => {
  expect([0, 19, 33.4, 81, 1e9].map((given) => shareOf(given, 46))).toEqual([20, 20, 33, 80, 80]);
  expect(shareOf(Number.NaN, 46)).toBe(46);
});
