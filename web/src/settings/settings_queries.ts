import { queryOptions } from '@tanstack/react-query';
import { answer, api, type Schemas } from '@/api/client';
import { permitted, resource } from '@/api/permissions';
import { queryClient } from '@/api/query_client';

export type BranchRule = Schemas['BranchProtectionRule'];
export type TagRule = Schemas['TagProtectionRule'];
export type RetentionRules = Schemas['GarbageCollectionRules'];
export type Quota = Schemas['Quota'];

/** Rules with the ETag that a change has to name, so that it does not undo one of somebody else. */
export interface Rules<R> {
  rules: R[];
  etag: string;
}

async function withEtag<R>(call: Promise<{ data?: R[]; error?: unknown; response: Response }>): Promise<Rules<R>> {
  const result = await call;
  return { rules: (await answer(Promise.resolve(result))) as R[], etag: result.response.headers.get('ETag') ?? '' };
}

export const branchRulesQuery = (repository: string) =>
  queryOptions({
    queryKey: ['settings', repository, 'branch-rules'],
    queryFn: ({ signal }) =>
      permitted('branches:GetBranchProtectionRules', resource.repository(repository), () =>
        withEtag<BranchRule>(
          api.GET('/repositories/{repository}/settings/branch_protection', {
            params: { path: { repository } },
            signal,
          }),
        ),
      ),
  });

export type CleanupRule = Schemas['BranchCleanup']['rules'][number];

/** Rules for branches that are no longer used. */
export const cleanupQuery = (repository: string) =>
  queryOptions({
    queryKey: ['settings', repository, 'branch-cleanup'],
    queryFn: ({ signal }) =>
      permitted('retention:GetGarbageCollectionRules', resource.repository(repository), async () => {
        const result = await api.GET('/repositories/{repository}/settings/branch_cleanup', {
          params: { path: { repository } },
          signal,
        });
        return { ...(await answer(Promise.resolve(result))), etag: result.response.headers.get('ETag') ?? '' };
      }),
  });

export const tagRulesQuery = (repository: string) =>
  queryOptions({
    queryKey: ['settings', repository, 'tag-rules'],
    queryFn: ({ signal }) =>
      permitted('branches:GetBranchProtectionRules', resource.repository(repository), () =>
        withEtag<TagRule>(
          api.GET('/repositories/{repository}/settings/tag_protection', { params: { path: { repository } }, signal }),
        ),
      ),
  });

/** null if there are none: then nothing expires that a ref leads to. */
export const retentionQuery = (repository: string) =>
  queryOptions({
    queryKey: ['settings', repository, 'retention'],
    queryFn: ({ signal }): Promise<RetentionRules | null> =>
      permitted(
        'retention:GetGarbageCollectionRules',
        resource.repository(repository),
        async () =>
          (await answer(
            api.GET('/repositories/{repository}/settings/gc_rules', {
              params: { path: { repository }, query: { optional: true } },
              signal,
            }),
          )) ?? null,
      ),
  });

export const metricFilesQuery = (repository: string) =>
  queryOptions({
    queryKey: ['settings', repository, 'metric-files'],
    queryFn: async ({ signal }) =>
      (
        await answer(
          api.GET('/repositories/{repository}/settings/metric_files', { params: { path: { repository } }, signal }),
        )
      ).globs,
  });

export const metadataQuery = (repository: string) =>
  queryOptions({
    queryKey: ['settings', repository, 'metadata'],
    queryFn: ({ signal }) =>
      answer(api.GET('/repositories/{repository}/metadata', { params: { path: { repository } }, signal })),
  });

export const quotasQuery = (repository: string) =>
  queryOptions({
    queryKey: ['settings', repository, 'quotas'],
    queryFn: ({ signal }) =>
      permitted(
        'retention:GetQuotas',
        resource.repository(repository),
        async () =>
          (await answer(api.GET('/repositories/{repository}/quotas', { params: { path: { repository } }, signal })))
            .results,
      ),
  });

export function settingsChanged(repository: string) {
  void queryClient.invalidateQueries({ queryKey: ['settings', repository] });
  void queryClient.invalidateQueries({ queryKey: ['refs', repository, 'stale'] });
  // Other pages show which rules a branch has.
  void queryClient.invalidateQueries({ queryKey: ['protection', repository] });
}
