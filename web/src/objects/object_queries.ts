import { queryOptions } from '@tanstack/react-query';
import { answer, api, type Schemas } from '@/api/client';
import type { Shown } from '@/preview/object_bytes';

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

/** An object as its preview needs it. */
export function shownOf(repository: string, ref: string, object: ObjectStats): Shown {
  return {
    repository,
    ref,
    path: object.path,
    size: object.size_bytes ?? 0,
    checksum: object.checksum,
    contentType: object.content_type,
  };
}

const readmeNames = ['README.md', 'readme.md'];

/** The README of a folder; null where it has none. Listings find it, for a request of an object that is absent is logged as an error. */
export const readmeQuery = (repository: string, ref: string, prefix: string) =>
  queryOptions({
    queryKey: [...objectsKey(repository, ref), 'readme', prefix],
    queryFn: async ({ signal }) => {
      const found = await Promise.all(
        readmeNames.map((name) =>
          answer(
            api.GET('/repositories/{repository}/refs/{ref}/objects/ls', {
              params: { path: { repository, ref }, query: { prefix: prefix + name, amount: 1 } },
              signal,
            }),
          ),
        ),
      );
      return (
        found.flatMap(({ results }) => results).find(({ path }) => readmeNames.includes(path.slice(prefix.length))) ??
        null
      );
    },
  });

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
