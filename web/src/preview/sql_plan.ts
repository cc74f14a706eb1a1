// The needs of a query, read from the plan that DuckDB explains: the columns of a table, and whether its first rows are enough.

export interface PlanNode {
  name: string;
  children: PlanNode[];
  extra_info: Record<string, string | string[]>;
}

/** Optimizers that would hide a column from the plan, or answer from the statistics of a table that is not filled yet. */
export const hiddenBy = ['statistics_propagation', 'filter_pushdown', 'late_materialization'];

/** Steps that pass rows on in their order, one by one. */
const streaming = new Set(['PROJECTION', 'FILTER', 'STREAMING_LIMIT', 'SEQ_SCAN']);

function nodesOf(node: PlanNode): PlanNode[] {
  return [node, ...node.children.flatMap(nodesOf)];
}

/** Places in `names` of the columns that the scans of "object" read; all of them where the plan does not tell. */
export function columnsOf(plan: PlanNode, names: readonly string[]): Set<number> {
  const all = new Set(names.keys());
  const scans = nodesOf(plan).filter((node) => node.name.includes('SCAN'));
  const wanted = new Set<number>();
  let isRead = false;
  for (const { extra_info: info } of scans) {
    if (info.Table === undefined) continue; // of values in the query
    if (info.Table !== 'object') return all;
    isRead = true;
    for (const text of [info.Projections ?? []].flat()) {
      if (text === '') continue;
      // A field of a struct is "column.field".
      const found = [...all].filter((at) => text === names[at] || text.startsWith(`${names[at]}.`));
      if (found.length === 0) return all;
      for (const at of found) wanted.add(at);
    }
  }
  return isRead ? wanted : all;
}

/** Whether the first rows of the table give the first rows of the result. */
export function isStreaming(plan: PlanNode): boolean {
  return nodesOf(plan).every((node) => streaming.has(node.name.trim()) && node.children.length <= 1);
}

/** The number of rows after which a streaming query ends by itself: its outer LIMIT. */
export function limitOf(plan: PlanNode, query: string): number {
  if (plan.name.trim() !== 'STREAMING_LIMIT' || /--|\/\*/.test(query)) return Infinity;
  const found = /\blimit\s+(\d{1,9})(?:\s+offset\s+\d+)?$/i.exec(query);
  return found ? Number(found[1]) : Infinity;
}
