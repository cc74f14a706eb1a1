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

export const approvalsQuery = (repository: string, request: string) =>
  queryOptions({
    queryKey: ['pulls', repository, 'approvals', request],
    queryFn: ({ signal }) =>
      permitted('pr:ReadPullRequest', resource.repository(repository), () =>
        answer(
          api.GET('/repositories/{repository}/pulls/{pull_request}/approvals', {
            params: { path: { repository, pull_request: request }, query: { amount: pageSize } },
            signal,
          }),
        ),
      ),
  });
