import { expect, it } from 'vitest';
import { isTable, tableHeight } from './notebook_tables';

it('knows tables, and how high their frames are', () => {
  const frame = (rows: number) => `<div><table border="1"><tr>${'</tr><tr >'.repeat(rows)}</tr></table></div>`;
  expect(isTable(frame(1))).toBe(true);
  expect(isTable('<TABLE>')).toBe(true);
  for (const html of ['', '<p>a table</p>', '<tablet>', 'table']) expect(isTable(html)).toBe(false);
  expect(tableHeight(frame(5))).toBeGreaterThan(tableHeight(frame(2)));
  expect(tableHeight(frame(10_000))).toBe(tableHeight(frame(1000)));
});
