/** A request that failed: the server's message with its id, or a server that did not answer. */
export class ApiError extends Error {
  override name = 'ApiError';
  constructor(
    /** HTTP status; 0 if no answer arrived. */
    readonly status: number,
    message: string,
    /** Stable code of the failure, as in docs/errors.md. */
    readonly reason = '',
    readonly requestId = '',
  ) {
    super(message);
  }

  /** The session is over. A missing permission is 401 too, as clients of lakeFS expect. */
  get isUnauthenticated(): boolean {
    return this.status === 401 && !this.isRefused;
  }

  /** The caller's policies do not permit it. */
  get isRefused(): boolean {
    return this.status === 403 || this.reason === 'insufficient_permissions';
  }

  /** The same request may succeed a little later. A full disk, quota or limit stays full; those of Tarn have a reason. */
  get isTransient(): boolean {
    if (this.status === 429) return this.reason === '';
    return this.status === 0 || this.status === 408 || (this.status >= 500 && this.status !== 507);
  }

  /** No answer, or one of a proxy whose server is away. */
  get isLost(): boolean {
    return this.status === 0 || this.status === 502 || this.status === 504;
  }
}

/** An expected outcome that ends an action and is shown where its failure would be: the message says all. */
export class Remark extends Error {
  override name = 'Remark';
}

/** One sentence: what the user can do about it; "" if the message says so. */
export function advice(error: unknown): string {
  if (error instanceof Remark) return '';
  if (!(error instanceof ApiError)) return 'Reload the page. If it happens again, report it with the text above.';
  if (error.isLost) return 'The page tries again by itself as soon as the server answers.';
  switch (error.reason) {
    case 'cross_origin':
      return 'Open this page at the address of the server itself; a proxy must pass the header Host on.';
    case 'too_many_failures':
      return 'Wait a few seconds before the next attempt.';
  }
  if (error.isRefused && error.reason !== 'cross_origin')
    return 'Ask an administrator for the permission that the message names.';
  if (error.status === 507 || (error.status === 429 && error.reason !== ''))
    return 'Make room as the message says, then try again.';
  switch (error.status) {
    case 401:
      return 'Sign in again, then repeat it. What you typed is still here.';
    case 404:
      return 'It may have been deleted or renamed. Check the name in the address.';
    case 408:
      return 'Try again. If it stays slow, the page Server shows what the server is busy with.';
    case 409:
      return 'Someone changed it at the same time. Look at its present state, then try again.';
    case 410:
      return 'The bytes are gone from the store. A verification (tarn verify) lists what is damaged.';
    case 412:
      return 'It changed since this page read it. Reload, then try again.';
    case 429:
    case 503:
      return 'The server is busy. Try again in a moment.';
  }
  if (error.status >= 500)
    return 'Try again. If it happens again, give the request id to the operator: it is in the log.';
  return 'Correct the input and try again.';
}

interface ErrorBody {
  message?: string;
  code?: string;
  request_id?: string;
}

export function errorOf(response: Response, body: unknown): ApiError {
  const given = (typeof body === 'object' && body !== null ? body : {}) as ErrorBody;
  const requestId = given.request_id ?? response.headers.get('X-Request-Id') ?? '';
  const reason = given.code ?? response.headers.get('X-Tarn-Error') ?? '';
  const message = given.message ?? `the server answered ${response.status} ${response.statusText}`.trim();
  return new ApiError(response.status, message, reason, requestId);
}

export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}
