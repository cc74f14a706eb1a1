import { queryOptions } from '@tanstack/react-query';
import { answer, api, type Schemas } from '@/api/client';
import { permitted, resource } from '@/api/permissions';

export type PullRequest = Schemas['PullRequest'];

const pageSize = 1000;

/** Open requests of a repository, the first 1,000. */
export const openRequestsQuery = (repository: string) =>
  queryOptions({
    queryKey: ['pulls', repository, 'open'],
    staleTime: 15_000,
    queryFn: ({ signal }) =>
      permitted(
        'pr:ListPullRequests',
        resource.repository(repository),
        async () =>
          (
            await answer(
              api.GET('/repositories/{repository}/pulls', {
                params: { path: { repository }, query: { status: 'open', amount: pageSize } },
                signal,
              }),
            )
          ).results,
      ),
  });

export const requestQuery = (repository: string, request: string) =>
  queryOptions({
    queryKey: ['pulls', repository, 'one', request],
    queryFn: ({ signal }) =>
      permitted('pr:ReadPullRequest', resource.repository(repository), () =>
        answer(
          api.GET('/repositories/{repository}/pulls/{pull_request}', {
            params: { path: { repository, pull_request: request } },
            signal,
          }),
        ),
      ),
  });

export const reviewersQuery = (repository: string, request: string) =>
  queryOptions({
    queryKey: ['pulls', repository, 'reviewers', request],
    queryFn: ({ signal }) =>
      permitted('pr:ReadPullRequest', resource.repository(repository), () =>
        answer(
          api.GET('/repositories/{repository}/pulls/{pull_request}/reviewers', {
            params: { path: { repository, pull_request: request }, query: { amount: pageSize } },
            signal,
          }),
        ),
      ),
  });

/** All comments of a request, of which there are 1,000 at most; long ones come in several pages. */
export const commentsQuery = (repository: string, request: string) =>
  queryOptions({
    queryKey: ['pulls', repository, 'comments', request],
    queryFn: ({ signal }) =>
      permitted('pr:ReadPullRequest', resource.repository(repository), async () => {
        const all: Schemas['PullRequestComment'][] = [];
        for (let after = ''; ;) {
          const page = await answer(
            api.GET('/repositories/{repository}/pulls/{pull_request}/comments', {
              params: { path: { repository, pull_request: request }, query: { after, amount: pageSize } },
              signal,
            }),
          );
          all.push(...page.results);
          if (!page.pagination.has_more) return all;
          after = page.pagination.next_offset;
        }
      }),
  });

/** Whether the source of a merged request can go: its head is what was merged. */
export const sourceIsMerged = (request: PullRequest, head: string | undefined) =>
  request.status === 'merged' && head !== undefined && head === request.merged_source_commit_id;
