// Lanes of a commit graph: newest first, each commit above its parents.

export interface GraphCommit {
  id: string;
  parents: readonly string[];
}

/** A line within one row, between lanes. */
export interface Line {
  from: number;
  to: number;
  /** in: from the top to the commit; out: from the commit to the bottom; past: from top to bottom. */
  part: 'in' | 'out' | 'past';
}

export interface GraphRow {
  lane: number;
  lines: Line[];
}

/** For each commit its lane and the lines of its row. Parents that are not among the commits leave through the last row. */
export function graphRows(commits: readonly GraphCommit[]): GraphRow[] {
  // The commit that each lane leads to.
  const lanes: (string | undefined)[] = [];
  const free = () => {
    const at = lanes.indexOf(undefined);
    return at < 0 ? lanes.length : at;
  };
  return commits.map((commit) => {
    let lane = lanes.indexOf(commit.id);
    const lines: Line[] = [];
    if (lane < 0) lane = free();
    lanes.forEach((id, at) => {
      if (id === commit.id) {
        lines.push({ from: at, to: lane, part: 'in' });
        lanes[at] = undefined;
      } else if (id !== undefined) {
        lines.push({ from: at, to: at, part: 'past' });
      }
    });
    commit.parents.forEach((parent, index) => {
      let to = lanes.indexOf(parent);
      if (to < 0) {
        to = index === 0 ? lane : free();
        lanes[to] = parent;
      }
      lines.push({ from: lane, to, part: 'out' });
    });
    return { lane, lines };
  });
}

export function laneCount(rows: readonly GraphRow[]): number {
  let most = 0;
  for (const row of rows)
    for (const line of [{ from: row.lane, to: row.lane }, ...row.lines]) most = Math.max(most, line.from, line.to);
  return most + 1;
}
