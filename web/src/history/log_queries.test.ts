import { expect, it } from 'vitest';
import { isFiltered, logParameters } from './log_queries';

it('a filter of the log becomes parameters of the API', () => {
  expect(logParameters({})).toEqual({});
  expect(logParameters({ path: 'data/' })).toEqual({ prefixes: ['data/'] });
  expect(logParameters({ path: 'data' })).toEqual({ objects: ['data'], prefixes: ['data/'] });
  expect(logParameters({ author: 'ann', metadata: ' run=7  seed ', first: true })).toEqual({
    committer: 'ann',
    metadata: ['run=7', 'seed'],
    first_parent: true,
  });
  const day = logParameters({ since: '2026-11-25', until: '2026-11-25' });
  expect(Date.parse(day.until!) - Date.parse(day.since!)).toBe(86_400_000 - 1);
});

it('a log without commits has no graph', () => {
  expect([isFiltered({}), isFiltered({ first: true }), isFiltered({ path: 'x' })]).toEqual([false, true, true]);
});
