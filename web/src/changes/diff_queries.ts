import { queryOptions } from '@tanstack/react-query';
import { answer, api, type Schemas } from '@/api/client';

export type Change = Schemas['Diff'];
export type Summary = Schemas['DiffSummary'];
export type Totals = Pick<Summary, 'added' | 'removed' | 'changed' | 'conflicts'>;

/** The two sides of a comparison. */
export interface Sides {
  repository: string;
  /** As the diff operations take them; "branch$" is a branch with its uncommitted changes. */
  left: string;
  right: string;
  /** two_dot: from left to right. three_dot: what merging right into left would change. */
  type: 'two_dot' | 'three_dot';
  /** Where objects are read. */
  readLeft: string;
  readRight: string;
}

/** The uncommitted changes of a branch. */
export function uncommittedSides(repository: string, branch: string): Sides {
  return { repository, left: branch, right: `${branch}$`, type: 'two_dot', readLeft: `${branch}@`, readRight: branch };
}

/** The changes of a commit, against one of its parents. */
export function commitSides(repository: string, parent: string, commit: string): Sides {
  return { repository, left: parent, right: commit, type: 'two_dot', readLeft: parent, readRight: commit };
}

/** Begins with what objects/object_dialogs.tsx invalidates after a change. */
export const diffKey = (sides: Sides) => ['diff', sides.repository, sides.left, sides.right, sides.type] as const;

const path = (sides: Sides) => ({ repository: sides.repository, leftRef: sides.left, rightRef: sides.right });

/** Counts and bytes; with a delimiter for each prefix right below `prefix`. */
export const summaryQuery = (sides: Sides, prefix: string, delimiter = '/') =>
  queryOptions({
    queryKey: [...diffKey(sides), 'summary', prefix, delimiter],
    queryFn: ({ signal }) =>
      answer(
        api.GET('/repositories/{repository}/refs/{leftRef}/diff/{rightRef}/summary', {
          params: { path: path(sides), query: { type: sides.type, prefix, delimiter } },
          signal,
        }),
      ),
  });

export const changesPageSize = 500;

export function listChanges(sides: Sides, prefix: string, after: string, signal: AbortSignal) {
  return answer(
    api.GET('/repositories/{repository}/refs/{leftRef}/diff/{rightRef}', {
      params: {
        path: path(sides),
        query: { type: sides.type, prefix, after, amount: changesPageSize, include_right_stats: true },
      },
      signal,
    }),
  );
}

/** The commit that a ref means. */
export const commitOfRefQuery = (repository: string, ref: string) =>
  queryOptions({
    queryKey: ['refs', repository, 'commit-of', ref],
    queryFn: async ({ signal }): Promise<Schemas['Commit']> => {
      const log = await answer(
        api.GET('/repositories/{repository}/refs/{ref}/commits', {
          params: { path: { repository, ref }, query: { amount: 1 } },
          signal,
        }),
      );
      return log.results[0]!;
    },
  });

export const kindLabels: Record<
  Change['type'],
  { mark: string; word: string; badge: 'added' | 'removed' | 'changed' }
> = {
  added: { mark: '+', word: 'added', badge: 'added' },
  removed: { mark: '−', word: 'removed', badge: 'removed' },
  changed: { mark: '~', word: 'changed', badge: 'changed' },
  prefix_changed: { mark: '~', word: 'changed', badge: 'changed' },
  conflict: { mark: '!', word: 'conflict', badge: 'removed' },
};

/** Objects that differ. */
export function objectCount(totals: Totals): number {
  return totals.added.objects + totals.removed.objects + totals.changed.objects + totals.conflicts;
}

/** By how many bytes the right side is larger. Conflicts are not counted. */
export function byteDifference(totals: Totals): number {
  return totals.added.bytes - totals.removed.bytes + totals.changed.bytes - (totals.changed.bytes_before ?? 0);
}
