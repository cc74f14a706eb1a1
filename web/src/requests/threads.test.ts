import { expect, test } from 'vitest';
import { type Comment, namesIn, numberIn, placeOf, threadsOf } from './threads';

const comment = (id: number, thread: number, more: Partial<Comment> = {}): Comment => ({
  id,
  thread,
  author: 'ann',
  body: `text ${id}`,
  creation_date: '2026-01-01T00:00:00Z',
  deleted: false,
  outdated: false,
  ...more,
});

test('answers stand in the thread that they answer in', () => {
  const threads = threadsOf([comment(1, 1), comment(2, 2), comment(3, 1), comment(4, 2), comment(5, 1)]);
  expect(threads.map(({ first, answers }) => [first.id, ...answers.map((answer) => answer.id)])).toEqual([
    [1, 3, 5],
    [2, 4],
  ]);
});

test('a thread goes when all of it is deleted', () => {
  const gone = { deleted: true, body: '' };
  expect(threadsOf([comment(1, 1, gone)])).toEqual([]);
  expect(threadsOf([comment(1, 1, gone), comment(2, 1, gone)])).toEqual([]);
  expect(threadsOf([comment(1, 1, gone), comment(2, 1)])).toHaveLength(1);
});

test('a place names the line or the row', () => {
  expect(placeOf({})).toBe('');
  expect(placeOf({ path: 'a.txt' })).toBe('a.txt');
  expect(placeOf({ path: 'a.txt', line: 3 })).toBe('a.txt, line 3');
  expect(placeOf({ path: 'a.csv', row: 7 })).toBe('a.csv, row 7');
});

test('names are separated by commas', () => {
  expect(namesIn(' ann, ben@example.com,,ann ')).toEqual(['ann', 'ben@example.com']);
  expect(namesIn(' , ')).toEqual([]);
});

test('a number of a line is whole and positive', () => {
  expect(numberIn(' ')).toBeUndefined();
  expect(numberIn('12')).toBe(12);
  for (const text of ['0', '-1', '1.5', 'x', '1e3', '2147483648']) expect(numberIn(text), text).toBeNull();
});
