import { queryOptions } from '@tanstack/react-query';
import { answer, api, type Schemas } from '@/api/client';

export type ObjectStats = Schemas['ObjectStats'];

export const pageSize = 1000;

/** One page of the direct children of a prefix. */
export function listChildren(repository: string, ref: string, prefix: string, after: string, signal: AbortSignal) {
  return answer(
    api.GET('/repositories/{repository}/refs/{ref}/objects/ls', {
      params: { path: { repository, ref }, query: { prefix, after, delimiter: '/', amount: pageSize } },
      signal,
    }),
  );
}

export const objectsKey = (repository: string, ref: string) => ['objects', repository, ref] as const;

export const statQuery = (repository: string, ref: string, path: string) =>
  queryOptions({
    queryKey: [...objectsKey(repository, ref), 'stat', path],
    queryFn: ({ signal }) =>
      answer(
        api.GET('/repositories/{repository}/refs/{ref}/objects/stat', {
          params: { path: { repository, ref }, query: { path } },
          signal,
        }),
      ),
  });
