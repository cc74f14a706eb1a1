/** A line of two texts: only in the left, only in the right, or in both. */
export interface DiffLine {
  kind: 'removed' | 'added' | 'same';
  text: string;
}

/** The shortest difference by lines. For documents of at most some thousand lines. */
export function diffLines(left: string, right: string): DiffLine[] {
  const a = left.replace(/\n$/, '').split('\n');
  const b = right.replace(/\n$/, '').split('\n');
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; --i) {
    for (let j = b.length - 1; j >= 0; --j) {
      common[i * width + j] =
        a[i] === b[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
    }
  }
  const out: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push({ kind: 'same', text: a[i]! });
      ++i;
      ++j;
    } else if (j >= b.length || (i < a.length && common[(i + 1) * width + j]! >= common[i * width + j + 1]!))
      out.push({ kind: 'removed', text: a[i++]! });
    else out.push({ kind: 'added', text: b[j++]! });
  }
  return out;
}
