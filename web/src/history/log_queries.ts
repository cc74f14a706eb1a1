import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { answer, api, type Schemas } from '@/api/client';

export type Commit = Schemas['Commit'];

export interface LogFilter {
  /** A key, or a prefix with its slash at the end. */
  path?: string | undefined;
  author?: string | undefined;
  message?: string | undefined;
  /** key, or key=value; several are separated by spaces. */
  metadata?: string | undefined;
  /** Days: 2026-11-25. */
  since?: string | undefined;
  until?: string | undefined;
  /** Only first parents. */
  first?: true | undefined;
}

const pageSize = 200;

/** Whether commits are left out, so that a graph of what remains would lie. */
export function isFiltered(filter: LogFilter): boolean {
  return [filter.path, filter.author, filter.message, filter.metadata, filter.since, filter.until, filter.first].some(
    (value) => value !== undefined,
  );
}

/** The parameters of the log; days are those of this browser's zone. */
export function logParameters(filter: LogFilter) {
  const { path, author, message, metadata, since, until, first } = filter;
  return {
    ...(path === undefined
      ? {}
      : path.endsWith('/')
        ? { prefixes: [path] }
        : { objects: [path], prefixes: [`${path}/`] }),
    ...(author === undefined ? {} : { committer: author }),
    ...(message === undefined ? {} : { message }),
    ...(metadata === undefined ? {} : { metadata: metadata.split(/\s+/).filter((part) => part !== '') }),
    ...(since === undefined ? {} : { since: new Date(`${since}T00:00:00`).toISOString() }),
    ...(until === undefined ? {} : { until: new Date(`${until}T23:59:59.999`).toISOString() }),
    ...(first ? { first_parent: true } : {}),
  };
}

/** The log of a ref, newest first. */
export const logQuery = (repository: string, ref: string, filter: LogFilter) =>
  infiniteQueryOptions({
    queryKey: ['log', repository, ref, filter],
    initialPageParam: '',
    queryFn: ({ pageParam, signal }) =>
      answer(
        api.GET('/repositories/{repository}/refs/{ref}/commits', {
          params: {
            path: { repository, ref },
            query: { after: pageParam, amount: pageSize, ...logParameters(filter) },
          },
          signal,
        }),
      ),
    getNextPageParam: (page) => (page.pagination.has_more ? page.pagination.next_offset : undefined),
  });

export const commitQuery = (repository: string, commit: string) =>
  queryOptions({
    queryKey: ['commit', repository, commit],
    queryFn: ({ signal }) =>
      answer(
        api.GET('/repositories/{repository}/commits/{commitId}', {
          params: { path: { repository, commitId: commit } },
          signal,
        }),
      ),
  });

/** The newest commit that changed a key or what is below a prefix; null if only merges did. */
export const lastChangeQuery = (repository: string, ref: string, path: string) =>
  queryOptions({
    queryKey: ['log', repository, ref, 'last-change', path],
    staleTime: 60_000,
    queryFn: async ({ signal }): Promise<Commit | null> => {
      const log = await answer(
        api.GET('/repositories/{repository}/refs/{ref}/commits', {
          params: {
            path: { repository, ref },
            query: { amount: 1, limit: true, ...(path.endsWith('/') ? { prefixes: [path] } : { objects: [path] }) },
          },
          signal,
        }),
      );
      return log.results[0] ?? null;
    },
  });

export const aheadMax = 1000;

/** How many commits of the history of one commit are not in that of another; 1,000 means at least that many. */
export const aheadQuery = (repository: string, commit: string, of: string) =>
  queryOptions({
    queryKey: ['ahead', repository, commit, of],
    staleTime: Number.POSITIVE_INFINITY, // commits do not change
    queryFn: async ({ signal }) =>
      (
        await answer(
          api.GET('/repositories/{repository}/refs/{ref}/commits', {
            params: { path: { repository, ref: commit }, query: { amount: aheadMax, without: of } },
            signal,
          }),
        )
      ).results.length,
  });
