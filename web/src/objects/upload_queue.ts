import { failureOf, guardedFetch } from '@/api/client';
import { connection } from '@/api/connection';
import { ApiError, asError } from '@/api/errors';
import { sessionEnd, until } from '@/api/session_end';

const filesAtOnce = 4;
/** Between two snapshots: small files end faster than the page can show each of them. */
const snapshotMs = 100;
/** Between two calls of onArrived while files are still on their way: at first, and at most. */
const arrivedMs = 1000;
const arrivedMsMax = 10_000;
/** Files that a snapshot names. */
export const listedMax = 100;
const partsAtOnce = 3;
const attemptsMax = 4;
const firstPauseMs = 500;
/** Files from this size are sent in parts, where the parts go to this server. */
export const partedBytesMin = 32 << 20;
const partBytesMin = 16 << 20;
const partsMax = 10_000;

export type UploadState = 'waiting' | 'sending' | 'done' | 'failed' | 'cancelled';

export interface Upload {
  id: number;
  /** Its path in the repository. */
  path: string;
  file: File;
  state: UploadState;
  sentBytes: number;
  error?: Error;
}

/** The state of a queue for the page. */
export interface UploadSnapshot {
  /** Files in each state. */
  counts: Readonly<Record<UploadState, number>>;
  totalBytes: number;
  sentBytes: number;
  /** At most listedMax files: failed ones first, then those that are sent, wait, were cancelled, and are done. */
  listed: readonly Upload[];
}

const listedFirst: readonly UploadState[] = ['failed', 'sending', 'waiting', 'cancelled', 'done'];

/** The sizes of the parts of a file: equal but for the last, at most 10,000. */
export function partSizes(bytes: number): number[] {
  const size = Math.max(partBytesMin, Math.ceil(bytes / partsMax));
  const out: number[] = [];
  for (let at = 0; at < bytes; at += size) out.push(Math.min(size, bytes - at));
  return out;
}

function send(
  method: string,
  url: string,
  body: Blob,
  headers: Record<string, string>,
  signal: AbortSignal,
  onSent: (bytes: number) => void,
): Promise<XMLHttpRequest> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest(); // fetch() does not tell how much was sent
    request.open(method, url);
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
    const abort = () => request.abort();
    signal.addEventListener('abort', abort);
    request.upload.onprogress = (event) => onSent(event.loaded);
    request.onloadend = () => {
      signal.removeEventListener('abort', abort);
      if (signal.aborted) return reject(new DOMException('cancelled', 'AbortError'));
      if (request.status >= 200 && request.status < 300) return resolve(request);
      if (request.status === 0) {
        connection.suspect(); // a file that cannot be read ends so too
        return reject(new ApiError(0, 'The connection broke while the file was sent.'));
      }
      let parsed: unknown;
      try {
        parsed = JSON.parse(request.responseText);
      } catch {
        parsed = undefined;
      }
      reject(
        failureOf(
          new Response(null, {
            status: request.status,
            headers: { 'X-Request-Id': request.getResponseHeader('X-Request-Id') ?? '' },
          }),
          parsed,
        ),
      );
    };
    request.send(body);
  });
}

/**
 * Uploads to one branch: a few at once, each tried again after transient failures, large ones in parts. A change of one file costs the
 * same however many there are.
 */
export class UploadQueue {
  /** By id, a map for each state. An upload is never changed but replaced. */
  private readonly byState: Record<UploadState, Map<number, Upload>> = {
    waiting: new Map(),
    sending: new Map(),
    done: new Map(),
    failed: new Map(),
    cancelled: new Map(),
  };
  private totalBytes = 0;
  private sentBytes = 0;
  private snapshot = this.takeSnapshot();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly aborts = new Map<number, AbortController>();
  private readonly listeners = new Set<() => void>();
  private nextId = 1;
  private active = 0;
  private arrived: ReturnType<typeof setTimeout> | undefined;
  private arrivedPauseMs = arrivedMs;
  /** Called when files have arrived: with growing pauses, as it reloads what the page shows, and after the last one. */
  onArrived: () => void = () => {};

  constructor(
    readonly repository: string,
    readonly branch: string,
  ) {}

  readonly subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
  readonly get = () => this.snapshot;

  add(files: readonly { path: string; file: File }[]) {
    for (const { path, file } of files) {
      const id = this.nextId++;
      this.byState.waiting.set(id, { id, path, file, state: 'waiting', sentBytes: 0 });
      this.totalBytes += file.size;
    }
    this.changed();
    this.pump();
  }

  retry(upload: Upload) {
    this.update(upload, { state: 'waiting', sentBytes: 0 });
    this.pump();
  }

  retryFailed() {
    for (const upload of [...this.byState.failed.values()]) this.update(upload, { state: 'waiting', sentBytes: 0 });
    this.pump();
  }

  cancel(upload: Upload) {
    this.aborts.get(upload.id)?.abort();
    if (this.byState.waiting.has(upload.id)) this.update(upload, { state: 'cancelled' });
  }

  cancelAll() {
    for (const upload of [...this.byState.waiting.values(), ...this.byState.sending.values()]) this.cancel(upload);
  }

  /** Forgets those that have ended. */
  clear() {
    for (const state of ['done', 'failed', 'cancelled'] as const) {
      for (const upload of this.byState[state].values()) {
        this.totalBytes -= upload.file.size;
        this.sentBytes -= upload.sentBytes;
      }
      this.byState[state].clear();
    }
    this.changed();
  }

  private takeSnapshot(): UploadSnapshot {
    const listed: Upload[] = [];
    for (const state of listedFirst)
      for (const upload of this.byState[state].values()) {
        if (listed.length === listedMax) break;
        listed.push(upload);
      }
    const { waiting, sending, done, failed, cancelled } = this.byState;
    return {
      counts: {
        waiting: waiting.size,
        sending: sending.size,
        done: done.size,
        failed: failed.size,
        cancelled: cancelled.size,
      },
      totalBytes: this.totalBytes,
      sentBytes: this.sentBytes,
      listed,
    };
  }

  private changed() {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.snapshot = this.takeSnapshot();
      for (const listener of this.listeners) listener();
    }, snapshotMs);
  }

  /** Of `given`, an earlier value of the same upload, the id counts alone. */
  private update(given: Upload, change: Partial<Upload>) {
    for (const uploads of Object.values(this.byState)) {
      const before = uploads.get(given.id);
      if (before === undefined) continue;
      const after = { ...before, ...change };
      if (after.state !== before.state) uploads.delete(given.id);
      this.byState[after.state].set(given.id, after);
      this.sentBytes += after.sentBytes - before.sentBytes;
      break;
    }
    this.changed();
  }

  private pump() {
    while (this.active < filesAtOnce) {
      const next = this.byState.waiting.values().next().value;
      if (next === undefined) return;
      ++this.active;
      this.update(next, { state: 'sending' });
      void this.run(next).finally(() => {
        --this.active;
        this.pump();
        if (this.active === 0 && this.arrived !== undefined) this.tellArrived(arrivedMs);
      });
    }
  }

  private hasArrived() {
    this.arrived ??= setTimeout(
      () => this.tellArrived(Math.min(2 * this.arrivedPauseMs, arrivedMsMax)),
      this.arrivedPauseMs,
    );
  }

  private tellArrived(nextPauseMs: number) {
    clearTimeout(this.arrived);
    this.arrived = undefined;
    this.arrivedPauseMs = nextPauseMs;
    this.onArrived();
  }

  private async run(upload: Upload) {
    const abort = new AbortController();
    this.aborts.set(upload.id, abort);
    try {
      const inParts = upload.file.size >= partedBytesMin && (await this.sendInParts(upload, abort.signal));
      if (!inParts) await this.sendWhole(upload, abort.signal);
      this.update(upload, { state: 'done', sentBytes: upload.file.size });
      this.hasArrived();
    } catch (error) {
      this.update(upload, abort.signal.aborted ? { state: 'cancelled' } : { state: 'failed', error: asError(error) });
    } finally {
      this.aborts.delete(upload.id);
    }
  }

  private get branchUrl() {
    return `/api/v1/repositories/${encodeURIComponent(this.repository)}/branches/${encodeURIComponent(this.branch)}`;
  }

  private sendWhole(upload: Upload, signal: AbortSignal) {
    const headers = { 'Content-Type': upload.file.type || 'application/octet-stream' };
    return attempts(signal, () =>
      send(
        'POST',
        `${this.branchUrl}/objects?path=${encodeURIComponent(upload.path)}`,
        upload.file,
        headers,
        signal,
        (sentBytes) => this.update(upload, { sentBytes }),
      ),
    );
  }

  /** False if the parts would go to another host, which the policy of this page does not allow. */
  private async sendInParts(upload: Upload, signal: AbortSignal): Promise<boolean> {
    const sizes = partSizes(upload.file.size);
    const query = `?path=${encodeURIComponent(upload.path)}`;
    const begun = await attempts(signal, async () => {
      const response = await guardedFetch(
        new Request(`${this.branchUrl}/staging/pmpu${query}&parts=${sizes.length}`, { method: 'POST', signal }),
      );
      if (response.status === 401) throw failureOf(response, await response.json().catch(() => undefined));
      return response;
    });
    if (!begun.ok) return false;
    const {
      upload_id: uploadId,
      physical_address: address,
      presigned_urls: urls = [],
    } = (await begun.json()) as { upload_id: string; physical_address: string; presigned_urls?: string[] };
    const uploadUrl = `${this.branchUrl}/staging/pmpu/${encodeURIComponent(uploadId)}${query}`;
    const json = { 'Content-Type': 'application/json' };
    const abort = { method: 'DELETE', headers: json, body: JSON.stringify({ physical_address: address }) };
    const giveUp = () => guardedFetch(new Request(uploadUrl, abort)).catch(() => undefined);
    if (urls.length !== sizes.length || urls.some((url) => new URL(url, location.href).origin !== location.origin)) {
      await giveUp();
      return false;
    }
    try {
      const sent = sizes.map(() => 0);
      const etags: string[] = [];
      let next = 0;
      const worker = async () => {
        while (next < sizes.length) {
          const part = next++;
          const from = part * sizes[0]!;
          const answer = await attempts(signal, () =>
            send('PUT', urls[part]!, upload.file.slice(from, from + sizes[part]!), {}, signal, (bytes) => {
              sent[part] = bytes;
              this.update(upload, { sentBytes: sent.reduce((sum, item) => sum + item, 0) });
            }),
          );
          etags[part] = answer.getResponseHeader('ETag') ?? '';
        }
      };
      await Promise.all(Array.from({ length: partsAtOnce }, worker));
      const body = JSON.stringify({
        physical_address: address,
        parts: etags.map((etag, index) => ({ part_number: index + 1, etag })),
        ...(upload.file.type ? { content_type: upload.file.type } : {}),
      });
      await attempts(signal, async () => {
        const ended = await guardedFetch(new Request(uploadUrl, { method: 'PUT', headers: json, body, signal }));
        if (!ended.ok) throw failureOf(ended, await ended.json().catch(() => undefined));
      });
      return true;
    } catch (error) {
      await giveUp();
      throw error;
    }
  }
}

/**
 * Tries again after transient failures, with growing pauses. While the session has ended, or the server is away, it waits: that takes
 * no attempt, for it may last.
 */
async function attempts<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; ++attempt) {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted || !(error instanceof ApiError)) throw error;
      if (error.isUnauthenticated && sessionEnd.hasEnded()) {
        await until(sessionEnd, () => !sessionEnd.hasEnded(), signal);
        attempt = 0;
        continue;
      }
      if (attempt === attemptsMax || !error.isTransient) throw error;
      await new Promise((resolve) => setTimeout(resolve, firstPauseMs * 2 ** attempt * (0.5 + Math.random())));
      if (!connection.isUp()) {
        await until(connection, connection.isUp, signal);
        attempt = 0;
      }
    }
  }
}

/** The files of a drop, those of folders with their paths below it. */
export async function droppedFiles(transfer: DataTransfer): Promise<{ path: string; file: File }[]> {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  if (entries.length === 0) return [...transfer.files].map((file) => ({ path: file.name, file }));
  const out: { path: string; file: File }[] = [];
  const walk = async (entry: FileSystemEntry) => {
    if (entry.isFile) {
      const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
      out.push({ path: entry.fullPath.replace(/^\//, ''), file });
      return;
    }
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    for (;;) {
      const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
      if (some.length === 0) return;
      for (const child of some) await walk(child);
    }
  };
  for (const entry of entries) await walk(entry);
  return out;
}
