import createClient from 'openapi-fetch';
import { connection } from './connection';
import { ApiError, errorOf } from './errors';
import { sessionEnd } from './session_end';
import type { components, paths } from './schema';

export type Schemas = components['schemas'];

/** After this long without an answer the page asks whether the server is there at all. */
const slowMs = 10_000;
/** What reads ends with a message after this long without its answer. */
export const readWaitMs = 60_000;
/** What changes something: a merge or a commit of very many objects takes its time. */
const changeWaitMs = 15 * 60_000;

/** The REST API, typed from docs/api/openapi.yaml. Wrap calls in answer(). */
export const api = createClient<paths>({ baseUrl: '/api/v1', fetch: wholeAnswer, credentials: 'same-origin' });

/**
 * fetch() that turns a missing answer into an ApiError with status 0 and tells `connection` about it; one that does not come in time
 * is an ApiError with status 408. The body of the answer may come later.
 */
export function guardedFetch(input: Request): Promise<Response> {
  return inTime(input, (signal) => fetch(input, { signal }));
}

/** As guardedFetch(), with the body in time too. */
function wholeAnswer(input: Request): Promise<Response> {
  return inTime(input, async (signal) => {
    const response = await fetch(input, { signal });
    const body = await response.arrayBuffer();
    return new Response(body.byteLength === 0 ? null : body, {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    });
  });
}

async function inTime(input: Request, ask: (signal: AbortSignal) => Promise<Response>): Promise<Response> {
  // It would be refused; the login and the question who is signed in are what ends this.
  if (sessionEnd.hasEnded() && !/\/api\/v1\/(auth\/login|user|setup_lakefs)$/.test(input.url))
    throw new ApiError(401, 'Your session has ended.');
  const reads = input.method === 'GET' || input.method === 'HEAD';
  const limitMs = reads ? readWaitMs : changeWaitMs;
  const limit = new AbortController();
  const slow = setTimeout(() => connection.suspect(), slowMs);
  const late = setTimeout(() => limit.abort(), limitMs);
  try {
    const response = await ask(AbortSignal.any([input.signal, limit.signal]));
    if (response.status === 502 || response.status === 504) connection.lost();
    if (response.status === 503) connection.suspect();
    return response;
  } catch (error) {
    if (limit.signal.aborted)
      throw new ApiError(
        408,
        `The server has not answered within ${limitMs / 1000} s.${reads ? '' : ' It may still be at work on it.'}`,
      );
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    connection.lost();
    throw new ApiError(0, 'The server does not answer.');
  } finally {
    clearTimeout(slow);
    clearTimeout(late);
  }
}

/** The failure that an answer stands for. One that no longer accepts the session ends it for the whole page. */
export function failureOf(response: Response, body: unknown): ApiError {
  const failed = errorOf(response, body);
  if (failed.isUnauthenticated) for (const listener of onUnauthenticated) listener();
  return failed;
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
  if (!response.ok) throw failureOf(response, error);
  return data as NonNullable<R['data']>;
}

/** The address of an object's bytes; with `download` for links. */
export function objectUrl(repository: string, ref: string, path: string): string {
  return `/api/v1/repositories/${encodeURIComponent(repository)}/refs/${encodeURIComponent(ref)}/objects?path=${encodeURIComponent(path)}`;
}
