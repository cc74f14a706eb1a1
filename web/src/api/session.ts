import { queryOptions, useQuery } from '@tanstack/react-query';
import { answer, api, type Schemas } from './client';
import { ApiError } from './errors';
import { queryClient } from './query_client';
import { sessionEnd } from './session_end';

export type User = Schemas['User'];

/** The signed-in user, or null. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  staleTime: 60_000,
  // A page whose session has ended still is that user's.
  queryFn: async (): Promise<User | null> =>
    (await currentUser()) ?? queryClient.getQueryData<User | null>(['session']) ?? null,
});

async function currentUser(): Promise<User | null> {
  try {
    return (await answer(api.GET('/user'))).user;
  } catch (error) {
    if (error instanceof ApiError && error.isUnauthenticated) return null;
    throw error;
  }
}

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
  await login(accessKeyId, secretAccessKey);
  queryClient.clear();
}

function login(accessKeyId: string, secretAccessKey: string) {
  return answer(api.POST('/auth/login', { body: { access_key_id: accessKeyId, secret_access_key: secretAccessKey } }));
}

/** Goes on with the page as it is after its session has ended. For somebody else the page loads again, without what the first one typed. */
export async function signInAgain(accessKeyId: string, secretAccessKey: string, before: string) {
  await login(accessKeyId, secretAccessKey);
  await resumeSession(before);
}

/** Whether there is a session again, of a login here or in another tab. */
export async function resumeSession(before: string): Promise<boolean> {
  const user = await currentUser();
  if (user === null) return false;
  if (user.id !== before) {
    location.reload();
    return true;
  }
  sessionEnd.set(false);
  await queryClient.invalidateQueries();
  return true;
}

/** Ends the session on the server, which also ends its other tabs. */
export async function signOut() {
  await fetch('/logout', { method: 'POST', redirect: 'manual', credentials: 'same-origin' });
  queryClient.clear();
  queryClient.setQueryData(sessionQuery.queryKey, null);
}
