import createClient from 'openapi-fetch';
import { connection } from './connection';
import { ApiError, errorOf } from './errors';
import type { components, paths } from './schema';

export type Schemas = components['schemas'];

/** The REST API, typed from docs/api/openapi.yaml. Wrap calls in answer(). */
export const api = createClient<paths>({ baseUrl: '/api/v1', fetch: guardedFetch, credentials: 'same-origin' });

/** fetch() that turns a missing answer into an ApiError with status 0 and tells `connection` about it. */
export async function guardedFetch(input: Request): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(input);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    connection.lost();
    throw new ApiError(0, 'The server does not answer.');
  }
  if (response.status === 502 || response.status === 504) connection.lost();
  return response;
}

type Listener = () => void;
const onUnauthenticated = new Set<Listener>();
/** Called when the server no longer accepts the session. */
export function whenUnauthenticated(listener: Listener): () => void {
  onUnauthenticated.add(listener);
  return () => onUnauthenticated.delete(listener);
}

interface Result {
  data?: unknown;
  error?: unknown;
  response: Response;
}

/** The body of a successful answer; throws ApiError. */
export async function answer<R extends Result>(call: Promise<R>): Promise<NonNullable<R['data']>> {
  const { data, error, response } = await call;
  if (!response.ok) {
    const failed = errorOf(response, error);
    if (failed.isUnauthenticated) for (const listener of onUnauthenticated) listener();
    throw failed;
  }
  return data as NonNullable<R['data']>;
}

/** The address of an object's bytes; with `download` for links. */
export function objectUrl(repository: string, ref: string, path: string): string {
  return `/api/v1/repositories/${encodeURIComponent(repository)}/refs/${encodeURIComponent(ref)}/objects?path=${encodeURIComponent(path)}`;
}
