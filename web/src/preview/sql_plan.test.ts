import { describe, expect, it } from 'vitest';
import { columnsOf, isStreaming, limitOf, type PlanNode } from './sql_plan';

const node = (name: string, info: PlanNode['extra_info'] = {}, ...children: PlanNode[]): PlanNode => ({
  name,
  extra_info: info,
  children,
});
const scan = (projections: string | string[], table = 'object') =>
  node('SEQ_SCAN ', { Table: table, Projections: projections });
const names = ['id', 'a', 'a.b', 'label'];
const columns = (plan: PlanNode) => [...columnsOf(plan, names)].sort();

describe('the needs of a query', () => {
  it('has the columns of every scan', () => {
    expect(columns(node('HASH_JOIN', {}, scan('id'), scan(['label', 'id'])))).toEqual([0, 3]);
    expect(columns(node('UNGROUPED_AGGREGATE', {}, scan('')))).toEqual([]);
  });
  it('has a whole struct for one of its fields, and each column that a name may mean', () => {
    expect(columns(scan('a.c'))).toEqual([1]);
    expect(columns(scan('a.b'))).toEqual([1, 2]);
  });
  it('has all columns where the plan does not tell', () => {
    for (const plan of [scan('rowid'), scan('id', 'main.object'), node('EMPTY_RESULT'), node('COLUMN_DATA_SCAN')])
      expect(columns(plan)).toEqual([0, 1, 2, 3]);
  });
  it('reads the first rows only of steps that keep the order', () => {
    expect(isStreaming(node('STREAMING_LIMIT', {}, node('PROJECTION', {}, node('FILTER', {}, scan('id')))))).toBe(true);
    for (const step of ['TOP_N', 'ORDER_BY', 'UNGROUPED_AGGREGATE', 'WINDOW', 'HASH_GROUP_BY'])
      expect(isStreaming(node('PROJECTION', {}, node(step, {}, scan('id'))))).toBe(false);
    expect(isStreaming(node('PROJECTION', {}, scan('id'), scan('id')))).toBe(false);
  });
  it('knows the outer limit, and no other', () => {
    const limited = node('STREAMING_LIMIT', {}, scan('id'));
    expect(limitOf(limited, 'SELECT * FROM object LIMIT 100')).toBe(100);
    expect(limitOf(limited, 'SELECT * FROM object limit 5 OFFSET 20')).toBe(5);
    for (const query of ['FROM (FROM object LIMIT 5)', 'FROM object LIMIT 5 * 3', 'FROM object LIMIT 9 -- limit 3'])
      expect(limitOf(limited, query)).toBe(Infinity);
    expect(limitOf(node('FILTER', {}, limited), 'FROM object LIMIT 100')).toBe(Infinity);
  });
});
