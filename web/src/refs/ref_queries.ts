import { queryOptions } from '@tanstack/react-query';
import { answer, api, type Schemas } from '@/api/client';

export type RefKind = 'branch' | 'tag' | 'alias';

export interface NamedRef {
  kind: RefKind;
  /** As an address has it: an alias with its "@". */
  name: string;
  commit: string;
  expires?: string | undefined;
}

/** Days that branches may be asked to be stale for. */
export const staleDaysMax = 3660;

const pageSize = 1000;
/** More refs than this are found by typing the beginning of their name. */
export const listedMax = 10_000;

type RefPage = { results: Schemas['Ref'][]; pagination: Schemas['Pagination'] };

async function all(load: (after: string) => Promise<RefPage>): Promise<Schemas['Ref'][]> {
  const out: Schemas['Ref'][] = [];
  let after = '';
  while (out.length < listedMax) {
    const page = await load(after);
    out.push(...page.results);
    if (!page.pagination.has_more) break;
    after = page.pagination.next_offset;
  }
  return out;
}

/** Branches, tags and aliases of a repository, up to 10,000 of each, those with the prefix. */
export const refsQuery = (repository: string, prefix = '') =>
  queryOptions({
    queryKey: ['refs', repository, prefix],
    staleTime: 15_000,
    queryFn: async ({ signal }): Promise<NamedRef[]> => {
      const path = { repository };
      const [branches, tags, aliases] = await Promise.all([
        all((after) =>
          answer(
            api.GET('/repositories/{repository}/branches', {
              params: { path, query: { after, prefix, amount: pageSize } },
              signal,
            }),
          ),
        ),
        all((after) =>
          answer(
            api.GET('/repositories/{repository}/tags', {
              params: { path, query: { after, prefix, amount: pageSize } },
              signal,
            }),
          ),
        ),
        prefix.startsWith('@') || prefix === ''
          ? all((after) =>
              answer(
                api.GET('/repositories/{repository}/aliases', {
                  params: { path, query: { after, prefix: prefix.slice(1), amount: pageSize } },
                  signal,
                }),
              ),
            )
          : [],
      ]);
      return [
        ...branches.map((ref): NamedRef => ({
          kind: 'branch',
          name: ref.id,
          commit: ref.commit_id,
          expires: ref.expires,
        })),
        ...tags.map((ref): NamedRef => ({ kind: 'tag', name: ref.id, commit: ref.commit_id })),
        ...aliases.map((ref): NamedRef => ({ kind: 'alias', name: `@${ref.id}`, commit: ref.commit_id })),
      ];
    },
  });

/** The branch of that name, or null: what can be written to. By a listing, which is no error when there is none. */
export const branchQuery = (repository: string, branch: string) =>
  queryOptions({
    queryKey: ['branch', repository, branch],
    queryFn: async ({ signal }): Promise<Schemas['Ref'] | null> => {
      const found = await answer(
        api.GET('/repositories/{repository}/branches', {
          params: { path: { repository }, query: { prefix: branch, amount: 1, show_hidden: true } },
          signal,
        }),
      );
      return found.results[0]?.id === branch ? found.results[0] : null;
    },
  });
