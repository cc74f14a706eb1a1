import { queryOptions, useQuery } from '@tanstack/react-query';
import { answer, api, type Schemas } from './client';
import { ApiError } from './errors';
import { queryClient } from './query_client';

type Check = Schemas['PermissionCheck'];

interface Waiting {
  check: Check;
  resolve: (result: Schemas['PermissionCheckResult']) => void;
  reject: (error: unknown) => void;
}

const batchMax = 100;
const permissionStaleMs = 30_000;
let waiting: Waiting[] = [];

/** Checks that components ask for in the same moment go in one request. */
function ask(check: Check): Promise<Schemas['PermissionCheckResult']> {
  return new Promise((resolve, reject) => {
    if (waiting.length === 0) queueMicrotask(() => setTimeout(send));
    waiting.push({ check, resolve, reject });
  });
}

function send() {
  const all = waiting;
  waiting = [];
  for (let at = 0; at < all.length; at += batchMax) {
    const batch = all.slice(at, at + batchMax);
    answer(api.POST('/auth/permissions/check', { body: { checks: batch.map((item) => item.check) } })).then(
      (answered) => batch.forEach((item, index) => item.resolve(answered.results[index]!)),
      (error: unknown) => batch.forEach((item) => item.reject(error)),
    );
  }
}

const permissionQuery = (action: string, resource: string) =>
  queryOptions({
    queryKey: ['may', action, resource],
    staleTime: permissionStaleMs,
    queryFn: () => ask({ action, resource }),
  });

export interface May {
  /** False only when the server said so: while it is unknown, the action is offered and the server decides. */
  allowed: boolean;
  /** Whether the server has said it; of requests that nobody asked for, which a refusal would show as an error. */
  known: boolean;
  /** Why not, for Button and MenuItem. */
  refused: string | undefined;
}

/** Whether the signed-in user may do an action (as "fs:WriteObject") on a resource; see resource(). */
export function useMay(action: string, resource: string): May {
  const { data } = useQuery(permissionQuery(action, resource));
  const known = data !== undefined;
  if (!known || data.allowed) return { allowed: true, known, refused: undefined };
  return { allowed: false, known, refused: refusal(action, resource) };
}

function refusal(action: string, resource: string) {
  return `Your policies do not permit ${action} on ${resource.replace(/^arn:lakefs:fs:::/, '')}`;
}

/**
 * Sends the request of `ask` if the policies permit the action, for data that only some users may read. Otherwise it fails as the
 * server would, without a request: the server would log a refusal, and the browser an error.
 */
export async function permitted<T>(action: string, resource: string, ask: () => Promise<T>): Promise<T> {
  // A refusal is asked for again, because "Try again" may follow a change of the policies.
  const { allowed } = await queryClient.fetchQuery({
    ...permissionQuery(action, resource),
    staleTime: (query) => (query.state.data?.allowed ? permissionStaleMs : 0),
  });
  if (!allowed) throw new ApiError(403, `${refusal(action, resource)}.`, 'insufficient_permissions');
  return ask();
}

/** Names of resources in policies. */
export const resource = {
  repository: (repository: string) => `arn:lakefs:fs:::repository/${repository}`,
  branch: (repository: string, branch: string) => `arn:lakefs:fs:::repository/${repository}/branch/${branch}`,
  tag: (repository: string, tag: string) => `arn:lakefs:fs:::repository/${repository}/tag/${tag}`,
  /** `alias` without its "@". */
  alias: (repository: string, alias: string) => `arn:lakefs:fs:::repository/${repository}/alias/${alias}`,
  object: (repository: string, path: string) => `arn:lakefs:fs:::repository/${repository}/object/${path}`,
  all: '*',
};

export function forgetPermissions() {
  void queryClient.invalidateQueries({ queryKey: ['may'] });
}
