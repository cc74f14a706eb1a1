import { executeSql, collect } from 'squirreling';
import { describe, expect, it } from 'vitest';
import { columnSource, csvSource, uniqueNames } from './sql_source';

const source = csvSource(
  ['id', 'name', '', 'name'],
  [
    ['1', 'ann', 'x', 'p'],
    ['2', '', 'y', 'q'],
    ['10', 'bob', 'z', 'r'],
  ],
);
const select = (query: string) => collect(executeSql({ tables: { object: source }, query }));

describe('SQL over CSV', () => {
  it('has numbers, nulls and names of their own', async () => {
    expect(await select('SELECT * FROM object ORDER BY id DESC LIMIT 1')).toEqual([
      { id: 10, name: 'bob', column3: 'z', name_2: 'r' },
    ]);
    expect(await select('SELECT id FROM object WHERE name IS NULL')).toEqual([{ id: 2 }]);
  });
  it('counts and groups', async () => {
    expect(await select('SELECT count(*) AS n, sum(id) AS total FROM object')).toEqual([{ n: 3, total: 13 }]);
    expect(await select('SELECT id > 1 AS more, count(*) AS n FROM object GROUP BY id > 1 ORDER BY n')).toEqual([
      { more: false, n: 1 },
      { more: true, n: 2 },
    ]);
  });
  it('says what is wrong with a query', async () => {
    await expect(async () => select('SELECT nothing FROM object')).rejects.toThrow(/nothing/);
    await expect(async () => select('DELETE FROM object')).rejects.toThrow();
    await expect(async () => select('SELECT * FROM other')).rejects.toThrow(/other/);
  });
  it('reads columns as they are', async () => {
    const columns = [
      [1, 2, 3],
      ['a', null, 'c'],
    ];
    const tables = { object: columnSource(['n', 'text'], 3, (column, row) => columns[column]![row]!) };
    expect(await collect(executeSql({ tables, query: 'SELECT n FROM object WHERE text IS NULL' }))).toEqual([{ n: 2 }]);
  });
  it('keeps names apart', () => {
    expect(uniqueNames(['a', 'a', 'a_2', '', '__proto__'])).toEqual(['a', 'a_2', 'a_2_2', 'column4', '__proto__']);
  });
});
