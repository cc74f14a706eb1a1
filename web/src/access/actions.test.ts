import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { actions, isKnownAction } from './actions';

it('are those of the server', () => {
  const source = readFileSync(new URL('../../../core/auth/action.cc', import.meta.url), 'utf8');
  expect([...source.matchAll(/^ {4}"([a-z]+:\w+)",$/gm)].map((match) => match[1])).toEqual([...actions]);
});

it('patterns mean some of them', () => {
  expect(
    ['fs:*', '*', 'fs:Read*', 'fs:ReadObject', 'fs:ReadObjects', 'x:*', 'fs:Read(', ''].map(isKnownAction),
  ).toEqual([true, true, true, true, false, false, false, false]);
});
