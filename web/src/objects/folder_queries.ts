// A folder in other orders than that of its names, and its sizes: what the server answers from the counts that its trees hold.
import { queryOptions } from '@tanstack/react-query';
import { answer, api, type Schemas } from '@/api/client';
import { queryClient } from '@/api/query_client';
import type { Sorting } from '@/ui/data_table';
import type { Page } from '@/ui/paged_rows';
import { listChildren, type ObjectStats, objectsKey, pageSize } from './object_queries';

/** Folders whose sizes are asked for; the others have none, and are left out of orders other than that of names. */
export const sizedFoldersMax = 1000;
/** Pages of a search that may find nothing before its work limit. */
const searchedPagesMax = 30;

export type FolderSizes = ReadonlyMap<string, { objects: number; bytes: number }>;

/** Objects and bytes below a prefix, and of each folder right below it. */
export const folderSizesQuery = (repository: string, ref: string, prefix: string) =>
  queryOptions({
    queryKey: [...objectsKey(repository, ref), 'sizes', prefix],
    queryFn: async ({ signal }) => {
      const usage = await answer(
        api.GET('/repositories/{repository}/usage', {
          params: { path: { repository }, query: { ref, prefix, depth: 1, amount: sizedFoldersMax } },
          signal,
        }),
      );
      return { total: usage.logical, folders: sizesOf(usage), hasMore: usage.pagination?.has_more === true };
    },
  });

function sizesOf({ results = [] }: Schemas['Usage']): FolderSizes {
  return new Map(
    results
      .filter((item) => item.path_type === 'common_prefix')
      .map(({ path, objects, bytes }) => [path, { objects, bytes }]),
  );
}

/** Folders as rows, in an order: by size, else by name, for a folder has no time. */
export function sortedFolders(sizes: FolderSizes, { by, descending }: Sorting): ObjectStats[] {
  const rows = [...sizes].map(([path, { bytes }]) => ({ path, bytes }));
  const sign = descending ? -1 : 1;
  rows.sort((a, b) => {
    const difference = by === 'size' ? a.bytes - b.bytes : 0;
    return sign * (difference || (a.path < b.path ? -1 : 1));
  });
  return rows.map(({ path }) => ({ path, path_type: 'common_prefix', physical_address: '', checksum: '', mtime: 0 }));
}

/** A pattern that matches what is right below a prefix. */
export function patternOf(prefix: string): string {
  return `${prefix.replace(/[\\*?[\]{}]/g, '\\$&')}*`;
}

/** One page of a folder: its children by name, or its folders and then its objects in another order. */
export async function listFolder(
  repository: string,
  ref: string,
  prefix: string,
  sorting: Sorting | undefined,
  after: string,
  signal: AbortSignal,
): Promise<Page<ObjectStats>> {
  if (!sorting) return listChildren(repository, ref, prefix, after, signal);
  const [sizes, objects] = await Promise.all([
    after === '' ? queryClient.fetchQuery(folderSizesQuery(repository, ref, prefix)) : undefined,
    answer(
      api.GET('/repositories/{repository}/refs/{ref}/objects/search', {
        params: {
          path: { repository, ref },
          query: {
            prefix,
            glob: patternOf(prefix),
            sort: `${sorting.by} ${sorting.descending ? 'desc' : 'asc'}`,
            after,
            amount: pageSize,
          },
        },
        signal,
      }),
    ),
  ]);
  if (!sizes) return objects;
  return { ...objects, results: [...sortedFolders(sizes.folders, sorting), ...objects.results] };
}

/** The key behind which the last page of a folder begins; undefined if the server did not find it in time. */
export async function lastPageOf(repository: string, ref: string, prefix: string): Promise<string | undefined> {
  let after = '';
  for (let page = 0; page < searchedPagesMax; ++page) {
    const { results, pagination } = await answer(
      api.GET('/repositories/{repository}/refs/{ref}/objects/search', {
        params: {
          path: { repository, ref },
          query: {
            prefix,
            glob: `${patternOf(prefix)}*`,
            sort: 'path desc',
            after,
            amount: pageSize,
            user_metadata: false,
          },
        },
      }),
    );
    if (results.length > 0) return results.at(-1)!.path;
    if (!pagination.has_more) return undefined;
    after = pagination.next_offset;
  }
  return undefined;
}
