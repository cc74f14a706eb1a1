import { queryOptions } from '@tanstack/react-query';
import { answer, api, type Schemas } from '@/api/client';
import { permitted, resource } from '@/api/permissions';
import { queryClient } from '@/api/query_client';
import { isOpen } from './evidence';

export type Promotion = Schemas['Promotion'];
export type GatePolicy = Schemas['GatePolicy'];

export const pollMs = 2000;
export const policiesMax = 100;

export const promotionsKey = (repository: string) => ['promotions', repository] as const;

const readsGates = <T>(repository: string, ask: () => Promise<T>) =>
  permitted('branches:GetGatePolicy', resource.repository(repository), ask);

export const policiesQuery = (repository: string) =>
  queryOptions({
    queryKey: [...promotionsKey(repository), 'policies'],
    // Many pages ask for them, and the one that lists them is to have those of others too.
    staleTime: 0,
    queryFn: ({ signal }) =>
      readsGates(repository, () =>
        answer(
          api.GET('/repositories/{repository}/policies', {
            params: { path: { repository }, query: { amount: policiesMax } },
            signal,
          }),
        ),
      ),
  });

export const policyQuery = (repository: string, policy: string) =>
  queryOptions({
    queryKey: [...promotionsKey(repository), 'policy', policy],
    queryFn: ({ signal }) =>
      readsGates(repository, () =>
        answer(
          api.GET('/repositories/{repository}/policies/{policy}', { params: { path: { repository, policy } }, signal }),
        ),
      ),
  });

export const versionsQuery = (repository: string, policy: string) =>
  queryOptions({
    queryKey: [...promotionsKey(repository), 'versions', policy],
    queryFn: ({ signal }) =>
      readsGates(repository, () =>
        answer(
          api.GET('/repositories/{repository}/policies/{policy}/versions', {
            params: { path: { repository, policy }, query: { amount: 100 } },
            signal,
          }),
        ),
      ),
  });

export const aliasesQuery = (repository: string) =>
  queryOptions({
    queryKey: [...promotionsKey(repository), 'aliases'],
    queryFn: ({ signal }) =>
      answer(
        api.GET('/repositories/{repository}/aliases', {
          params: { path: { repository }, query: { amount: 1000 } },
          signal,
        }),
      ),
  });

export const aliasHistoryQuery = (repository: string, alias: string) =>
  queryOptions({
    queryKey: [...promotionsKey(repository), 'alias', alias],
    queryFn: ({ signal }) =>
      answer(
        api.GET('/repositories/{repository}/aliases/{alias}/history', {
          params: { path: { repository, alias }, query: { amount: 100 } },
          signal,
        }),
      ),
  });

/** Follows a promotion until it has ended. */
export const promotionQuery = (repository: string, promotion: string) =>
  queryOptions({
    queryKey: [...promotionsKey(repository), 'promotion', promotion],
    queryFn: ({ signal }) =>
      answer(
        api.GET('/repositories/{repository}/promotions/{promotion}', {
          params: { path: { repository, promotion } },
          signal,
        }),
      ),
    refetchInterval: (query) => {
      const found = query.state.data;
      return found && (isOpen(found.state) || watchedChecks(found).length > 0) ? pollMs : false;
    },
  });

/** The checks that can still take a promotion back. */
export function watchedChecks(promotion: Promotion): string[] {
  if (promotion.state !== 'promoted') return [];
  const last = promotion.stages?.find((stage) => stage.until && Date.parse(stage.until) > Date.now());
  return last?.checks ?? [];
}

/** Who would pass now; by a draft if a document is given. */
export const verdictsQuery = (
  repository: string,
  policy: string,
  candidates: readonly string[],
  champion: string | undefined,
  document?: string,
) =>
  queryOptions({
    queryKey: [...promotionsKey(repository), 'verdicts', policy, candidates, champion ?? '', document ?? null],
    staleTime: 5000,
    queryFn: ({ signal }) =>
      readsGates(repository, () =>
        answer(
          api.POST('/repositories/{repository}/policies/{policy}:evaluate', {
            params: { path: { repository, policy } },
            body: {
              candidates: [...candidates],
              ...(champion ? { champion } : {}),
              ...(document === undefined ? {} : { document }),
            },
            signal,
          }),
        ),
      ),
  });

/** After a change: lists, verdicts, and what the other pages show of branches and aliases. */
export function forgetPromotions(repository: string) {
  void queryClient.invalidateQueries({ queryKey: promotionsKey(repository) });
  void queryClient.invalidateQueries({ queryKey: ['standards', repository] });
  void queryClient.invalidateQueries({ queryKey: ['refs', repository] });
}

/** Candidates as they are typed: separated by commas, spaces or lines. */
export function candidateWords(text: string): string[] {
  return text.split(/[\s,]+/).filter((word) => word !== '');
}
