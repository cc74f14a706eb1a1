import { queryOptions } from '@tanstack/react-query';
import { answer, api, type Schemas } from '@/api/client';
import { forgetPermissions } from '@/api/permissions';
import { queryClient } from '@/api/query_client';

export const pageSize = 1000;

export function accessChanged() {
  void queryClient.invalidateQueries({ queryKey: ['access'] });
  forgetPermissions();
}

type Listed<T> = { results: T[] };
const results = <T>(page: Listed<T>) => page.results;

/** Names of users, groups and policies to choose from; the first 1,000. */
export const usersQuery = queryOptions({
  queryKey: ['access', 'users'],
  queryFn: async ({ signal }) =>
    results(await answer(api.GET('/auth/users', { params: { query: { amount: pageSize } }, signal }))),
});
export const groupsQuery = queryOptions({
  queryKey: ['access', 'groups'],
  queryFn: async ({ signal }) =>
    results(await answer(api.GET('/auth/groups', { params: { query: { amount: pageSize } }, signal }))),
});
export const policiesQuery = queryOptions({
  queryKey: ['access', 'policies'],
  queryFn: async ({ signal }) =>
    results(await answer(api.GET('/auth/policies', { params: { query: { amount: pageSize } }, signal }))),
});

const query = { amount: pageSize };
export const userGroupsQuery = (userId: string) =>
  queryOptions({
    queryKey: ['access', 'user', userId, 'groups'],
    queryFn: async ({ signal }) =>
      results(await answer(api.GET('/auth/users/{userId}/groups', { params: { path: { userId }, query }, signal }))),
  });
export const userPoliciesQuery = (userId: string) =>
  queryOptions({
    queryKey: ['access', 'user', userId, 'policies'],
    queryFn: async ({ signal }) =>
      results(await answer(api.GET('/auth/users/{userId}/policies', { params: { path: { userId }, query }, signal }))),
  });
export const userKeysQuery = (userId: string) =>
  queryOptions({
    queryKey: ['access', 'user', userId, 'keys'],
    queryFn: async ({ signal }) =>
      results(
        await answer(api.GET('/auth/users/{userId}/credentials', { params: { path: { userId }, query }, signal })),
      ),
  });
export const userInvitationsQuery = (userId: string) =>
  queryOptions({
    queryKey: ['access', 'user', userId, 'invitations'],
    queryFn: async ({ signal }) =>
      results(
        await answer(api.GET('/auth/users/{userId}/invitations', { params: { path: { userId }, query }, signal })),
      ),
  });
export const userPrincipalsQuery = (userId: string) =>
  queryOptions({
    queryKey: ['access', 'user', userId, 'principals'],
    queryFn: async ({ signal }) =>
      results(
        await answer(
          api.GET('/auth/users/{userId}/external/principals/ls', { params: { path: { userId }, query }, signal }),
        ),
      ),
  });
export const groupMembersQuery = (groupId: string) =>
  queryOptions({
    queryKey: ['access', 'group', groupId, 'members'],
    queryFn: async ({ signal }) =>
      results(
        await answer(api.GET('/auth/groups/{groupId}/members', { params: { path: { groupId }, query }, signal })),
      ),
  });
export const groupPoliciesQuery = (groupId: string) =>
  queryOptions({
    queryKey: ['access', 'group', groupId, 'policies'],
    queryFn: async ({ signal }) =>
      results(
        await answer(api.GET('/auth/groups/{groupId}/policies', { params: { path: { groupId }, query }, signal })),
      ),
  });
export const policyQuery = (policyId: string) =>
  queryOptions({
    queryKey: ['access', 'policy', policyId],
    queryFn: ({ signal }): Promise<Schemas['Policy']> =>
      answer(api.GET('/auth/policies/{policyId}', { params: { path: { policyId } }, signal })),
  });
