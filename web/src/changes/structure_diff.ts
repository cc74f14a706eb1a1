// Differences of two values of JSON or YAML, member by member.

export interface StructureChange {
  kind: 'added' | 'removed' | 'changed';
  /** As "layers[2].size"; "" is the whole. */
  path: string;
  before?: unknown;
  after?: unknown;
}

/** Changes that are listed. */
export const changesMax = 1000;

export function structureDiff(before: unknown, after: unknown): StructureChange[] {
  const out: StructureChange[] = [];
  compare(before, after, '', out);
  return out;
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function compare(before: unknown, after: unknown, path: string, out: StructureChange[]) {
  if (out.length >= changesMax || equal(before, after)) return;
  if (isMap(before) && isMap(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    for (const name of names)
      member(
        Object.hasOwn(before, name),
        before[name],
        Object.hasOwn(after, name),
        after[name],
        memberPath(path, name),
        out,
      );
  } else if (Array.isArray(before) && Array.isArray(after)) {
    compareLists(before, after, path, out);
  } else {
    out.push({ kind: 'changed', path, before, after });
  }
}

/** Elements between the equal ones at the beginning and at the end are compared one by one. */
function compareLists(before: readonly unknown[], after: readonly unknown[], path: string, out: StructureChange[]) {
  let head = 0;
  while (head < before.length && head < after.length && equal(before[head], after[head])) ++head;
  let tail = 0;
  while (
    tail < before.length - head &&
    tail < after.length - head &&
    equal(before[before.length - 1 - tail], after[after.length - 1 - tail])
  )
    ++tail;
  const left = before.length - tail;
  const right = after.length - tail;
  for (let at = head; at < Math.max(left, right); ++at)
    member(at < left, before[at], at < right, after[at], `${path}[${at}]`, out);
}

function member(
  inBefore: boolean,
  before: unknown,
  inAfter: boolean,
  after: unknown,
  path: string,
  out: StructureChange[],
) {
  if (out.length >= changesMax) return;
  if (!inBefore) out.push({ kind: 'added', path, after });
  else if (!inAfter) out.push({ kind: 'removed', path, before });
  else compare(before, after, path, out);
}

function memberPath(path: string, name: string): string {
  if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}

function equal(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, at) => equal(item, b[at]));
  if (!isMap(a) || !isMap(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length && names.every((name) => Object.hasOwn(b, name) && equal(a[name], b[name]))
  );
}
