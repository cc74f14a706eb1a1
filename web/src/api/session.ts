import { queryOptions, useQuery } from '@tanstack/react-query';
import { answer, api, type Schemas } from './client';
import { ApiError } from './errors';
import { queryClient } from './query_client';

export type User = Schemas['User'];

/** The signed-in user, or null. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  staleTime: 60_000,
  queryFn: async (): Promise<User | null> => {
    try {
      return (await answer(api.GET('/user'))).user;
    } catch (error) {
      if (error instanceof ApiError && error.isUnauthenticated) return null;
      throw error;
    }
  },
});

export const setupStateQuery = queryOptions({
  queryKey: ['setup-state'],
  staleTime: 60_000,
  queryFn: () => answer(api.GET('/setup_lakefs')),
});

export const configQuery = queryOptions({
  queryKey: ['config'],
  staleTime: Infinity,
  queryFn: () => answer(api.GET('/config')),
});

export function useUser(): User | null {
  return useQuery(sessionQuery).data ?? null;
}

export async function signIn(accessKeyId: string, secretAccessKey: string) {
  await answer(api.POST('/auth/login', { body: { access_key_id: accessKeyId, secret_access_key: secretAccessKey } }));
  queryClient.clear();
}

/** Ends the session on the server, which also ends its other tabs. */
export async function signOut() {
  await fetch('/logout', { method: 'POST', redirect: 'manual', credentials: 'same-origin' });
  queryClient.clear();
  queryClient.setQueryData(sessionQuery.queryKey, null);
}
