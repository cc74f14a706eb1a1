// Lines that differ between two texts (Myers' algorithm), and how they are shown.

export type LineKind = 'same' | 'removed' | 'added';

export interface DiffLine {
  kind: LineKind;
  text: string;
  /** Line numbers from 1; absent on the side that does not have the line. */
  left?: number;
  right?: number;
}

/** Edits that are searched for; texts that differ more are shown as replaced between what they begin and end with. */
export const editsMax = 1000;

export function splitLines(text: string): string[] {
  if (text === '') return [];
  const lines = text.split('\n');
  if (lines[lines.length - 1] === '') lines.pop();
  return lines;
}

/** A shortest sequence of removed, added and equal lines. */
export function diffLines(left: readonly string[], right: readonly string[]): DiffLine[] {
  let head = 0;
  while (head < left.length && head < right.length && left[head] === right[head]) ++head;
  let tail = 0;
  while (
    tail < left.length - head &&
    tail < right.length - head &&
    left[left.length - 1 - tail] === right[right.length - 1 - tail]
  )
    ++tail;
  const out: DiffLine[] = [];
  const same = (a: number, b: number) => out.push({ kind: 'same', text: left[a]!, left: a + 1, right: b + 1 });
  for (let at = 0; at < head; ++at) same(at, at);
  for (const step of shortestEdits(left.slice(head, left.length - tail), right.slice(head, right.length - tail))) {
    if (step.kind === 'same') same(head + step.left, head + step.right);
    else if (step.kind === 'removed')
      out.push({ kind: 'removed', text: left[head + step.left]!, left: head + step.left + 1 });
    else out.push({ kind: 'added', text: right[head + step.right]!, right: head + step.right + 1 });
  }
  for (let at = tail; at > 0; --at) same(left.length - at, right.length - at);
  return out;
}

interface Step {
  kind: LineKind;
  left: number;
  right: number;
}

function shortestEdits(left: readonly string[], right: readonly string[]): Step[] {
  const n = left.length;
  const m = right.length;
  const most = Math.min(n + m, editsMax);
  // The furthest left position on each diagonal, after each number of edits.
  const trace: Map<number, number>[] = [];
  let frontier = new Map<number, number>([[1, 0]]);
  for (let edits = 0; edits <= most; ++edits) {
    const next = new Map<number, number>();
    for (let k = -edits; k <= edits; k += 2) {
      const down = k === -edits || (k !== edits && (frontier.get(k - 1) ?? -1) < (frontier.get(k + 1) ?? -1));
      let x = down ? (frontier.get(k + 1) ?? 0) : (frontier.get(k - 1) ?? 0) + 1;
      if (x > n || x - k > m) {
        next.set(k, x);
        continue;
      }
      while (x < n && x - k < m && left[x] === right[x - k]) ++x;
      next.set(k, x);
      if (x === n && x - k === m) {
        trace.push(frontier);
        return backtrack(trace, n, m);
      }
    }
    trace.push(frontier);
    frontier = next;
  }
  return [
    ...left.map((_, at): Step => ({ kind: 'removed', left: at, right: 0 })),
    ...right.map((_, at): Step => ({ kind: 'added', left: n, right: at })),
  ];
}

function backtrack(trace: readonly Map<number, number>[], n: number, m: number): Step[] {
  const steps: Step[] = [];
  let x = n;
  let y = m;
  for (let edits = trace.length - 1; edits >= 0; --edits) {
    const frontier = trace[edits]!;
    const k = x - y;
    const down = k === -edits || (k !== edits && (frontier.get(k - 1) ?? -1) < (frontier.get(k + 1) ?? -1));
    const fromK = down ? k + 1 : k - 1;
    const fromX = edits === 0 ? 0 : (frontier.get(fromK) ?? 0);
    // Equal lines follow the edit.
    const afterEdit = edits === 0 ? 0 : down ? fromX : fromX + 1;
    while (x > afterEdit) {
      --x;
      --y;
      steps.push({ kind: 'same', left: x, right: y });
    }
    if (edits === 0) break;
    if (down) {
      --y;
      steps.push({ kind: 'added', left: x, right: y });
    } else {
      --x;
      steps.push({ kind: 'removed', left: x, right: y });
    }
  }
  return steps.reverse();
}

export interface Hunk {
  /** Equal lines before it that are not shown. */
  hidden: DiffLine[];
  lines: DiffLine[];
}

/** Changed lines with `context` equal ones around them; the last hunk may have hidden lines alone. */
export function hunksOf(lines: readonly DiffLine[], context = 3): Hunk[] {
  const keep = new Array<boolean>(lines.length).fill(false);
  lines.forEach((line, at) => {
    if (line.kind !== 'same')
      for (let near = Math.max(0, at - context); near <= Math.min(lines.length - 1, at + context); ++near)
        keep[near] = true;
  });
  const hunks: Hunk[] = [];
  let hunk: Hunk = { hidden: [], lines: [] };
  lines.forEach((line, at) => {
    if (keep[at]) hunk.lines.push(line);
    else {
      if (hunk.lines.length > 0) {
        hunks.push(hunk);
        hunk = { hidden: [], lines: [] };
      }
      hunk.hidden.push(line);
    }
  });
  if (hunk.lines.length > 0 || hunk.hidden.length > 0) hunks.push(hunk);
  return hunks;
}

export interface LinePair {
  left: DiffLine | undefined;
  right: DiffLine | undefined;
}

/** Lines beside each other: removed lines next to the added ones that follow them. */
export function pairsOf(lines: readonly DiffLine[]): LinePair[] {
  const out: LinePair[] = [];
  let removed: DiffLine[] = [];
  let added: DiffLine[] = [];
  const flush = () => {
    for (let at = 0; at < Math.max(removed.length, added.length); ++at)
      out.push({ left: removed[at], right: added[at] });
    removed = [];
    added = [];
  };
  for (const line of lines) {
    if (line.kind === 'removed') removed.push(line);
    else if (line.kind === 'added') added.push(line);
    else {
      flush();
      out.push({ left: line, right: line });
    }
  }
  flush();
  return out;
}

/** The part of two lines that differs: [begin, end of left, end of right]. */
export function differingPart(left: string, right: string): [number, number, number] {
  let begin = 0;
  while (begin < left.length && begin < right.length && left[begin] === right[begin]) ++begin;
  let end = 0;
  while (
    end < left.length - begin &&
    end < right.length - begin &&
    left[left.length - 1 - end] === right[right.length - 1 - end]
  )
    ++end;
  return [begin, left.length - end, right.length - end];
}
