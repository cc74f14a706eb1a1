import { describe, expect, it } from 'vitest';
import {
  binsOfHistogram,
  type ColumnProfile,
  columnsOf,
  countsQuery,
  endsOf,
  isHistogram,
  sharesOf,
  sharesQuery,
} from './profile';

const result = (rows: (string | null)[][]) => ({ columns: [], rows, hasMore: false, readBytes: 0, seconds: 0 });
const column = (type: string): ColumnProfile => ({
  name: 'a "b"',
  type,
  rows: 3,
  nulls: 1,
});

describe('a profile of columns', () => {
  it('takes each column from what was counted', () => {
    const described = result([
      ['id', 'BIGINT'],
      ['label', 'VARCHAR'],
    ]);
    expect(columnsOf(described, result([['10', '10', '4']]))).toEqual([
      { name: 'id', type: 'BIGINT', rows: 10, nulls: 0 },
      { name: 'label', type: 'VARCHAR', rows: 10, nulls: 6 },
    ]);
    expect(endsOf(result([['2', 'cat', 'dog']]))).toEqual({ distinct: 2, min: 'cat', max: 'dog' });
  });
  it('has an empty table', () => {
    expect(columnsOf(result([['a', 'VARCHAR']]), result([['0', '0']]))).toEqual([
      { name: 'a', type: 'VARCHAR', rows: 0, nulls: 0 },
    ]);
    expect(endsOf(result([['0', null, null]]))).toEqual({ distinct: 0, min: null, max: null });
  });
  it('quotes names', () => {
    expect(countsQuery(['a "b"'])).toContain('count("a ""b""")');
    expect(sharesQuery(column('VARCHAR'))).toContain('"a ""b""" IS NOT NULL');
  });
  it.each([
    'TINYINT',
    'INTEGER',
    'UBIGINT',
    'HUGEINT',
    'FLOAT',
    'DOUBLE',
    'DECIMAL(12,2)',
    'DATE',
    'TIMESTAMP',
    'TIMESTAMP_NS',
  ])('has a histogram of %s', (type) => {
    expect(isHistogram(column(type))).toBe(true);
  });
  it.each(['VARCHAR', 'BOOLEAN', 'VARCHAR[]', 'INTEGER[]', 'STRUCT(x INTEGER)', 'BLOB', 'TIMESTAMP WITH TIME ZONE'])(
    'has frequent values of %s',
    (type) => {
      expect(isHistogram(column(type))).toBe(false);
    },
  );
  it('has bins without rows too', () => {
    const shares = sharesOf(
      column('DOUBLE'),
      result([
        ['0', '5'],
        ['19', '2'],
      ]),
    );
    expect(shares).toHaveLength(binsOfHistogram);
    expect(shares.map(({ rows }) => rows)).toEqual([5, ...Array<number>(18).fill(0), 2]);
    expect(sharesOf(column('DOUBLE'), result([]))).toEqual([]);
  });
});
