import { afterEach, describe, expect, it, vi } from 'vitest';
import { listedMax, partSizes, UploadQueue } from './upload_queue';

describe('parts of a file', () => {
  it('cover it, of equal size but for the last', () => {
    for (const bytes of [1, 16 << 20, (16 << 20) + 1, 100 << 20, 5e12]) {
      const sizes = partSizes(bytes);
      expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(bytes);
      expect(sizes.length).toBeLessThanOrEqual(10_000);
      expect(sizes.slice(0, -1).every((size) => size === sizes[0])).toBe(true);
      expect(sizes[0]!).toBeGreaterThanOrEqual(Math.min(bytes, 16 << 20));
    }
  });
});

/** Answers each request with the status that `statusOf` has for its address; at once, or after some time. */
function answerWith(statusOf: (url: string) => number, answer: (run: () => void) => void = queueMicrotask) {
  vi.stubGlobal(
    'XMLHttpRequest',
    class {
      upload: { onprogress?: (event: { loaded: number }) => void } = {};
      onloadend: () => void = () => {};
      status = 0;
      responseText = '{"message": "refused"}';
      private url = '';
      open(_: string, url: string) {
        this.url = url;
      }
      setRequestHeader() {}
      abort() {}
      getResponseHeader() {
        return null;
      }
      send(body: Blob) {
        this.status = statusOf(this.url);
        answer(() => {
          this.upload.onprogress?.({ loaded: body.size });
          this.onloadend();
        });
      }
    },
  );
}

const files = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ path: `${at}.txt`, file: new File(['x'], `${at}.txt`) }));

describe('a queue of uploads', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    vi.useRealTimers();
  });

  it('shows ten thousand files by few snapshots of few files', async () => {
    vi.useFakeTimers();
    answerWith(() => 201);
    const queue = new UploadQueue('r', 'main');
    let snapshots = 0;
    queue.subscribe(() => ++snapshots);
    queue.add(files(10_000));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(queue.get().counts).toEqual({ waiting: 0, sending: 0, done: 10_000, failed: 0, cancelled: 0 });
    expect([queue.get().totalBytes, queue.get().sentBytes]).toEqual([10_000, 10_000]);
    expect(queue.get().listed).toHaveLength(listedMax);
    expect(snapshots).toBeLessThanOrEqual(100);
  });

  it('names failed files first, and forgets those that have ended', async () => {
    vi.useFakeTimers();
    answerWith((url) => (url.endsWith('=7.txt') ? 403 : 201));
    const queue = new UploadQueue('r', 'main');
    queue.add(files(300));
    await vi.advanceTimersByTimeAsync(1000);
    expect(queue.get().counts).toMatchObject({ done: 299, failed: 1 });
    expect(queue.get().listed[0]).toMatchObject({ path: '7.txt', state: 'failed' });
    answerWith(() => 201);
    queue.retryFailed();
    await vi.advanceTimersByTimeAsync(1000);
    expect(queue.get().counts).toMatchObject({ done: 300, failed: 0 });
    queue.clear();
    await vi.advanceTimersByTimeAsync(1000);
    expect(queue.get()).toMatchObject({ totalBytes: 0, sentBytes: 0, listed: [] });
  });

  it('tells that files have arrived with growing pauses and after the last one', async () => {
    vi.useFakeTimers();
    answerWith(
      () => 201,
      (run) => setTimeout(run, 40),
    );
    const queue = new UploadQueue('r', 'main');
    const told: number[] = [];
    const start = Date.now();
    queue.onArrived = () => told.push(Math.round((Date.now() - start) / 1000));
    queue.add(files(4000)); // four at once, for 40 s
    await vi.advanceTimersByTimeAsync(60_000);
    expect(told).toEqual([1, 3, 7, 15, 25, 35, 40]);
    told.length = 0;
    queue.add(files(1));
    await vi.advanceTimersByTimeAsync(100);
    expect(told).toEqual([60]);
  });

  it('cancels what waits', async () => {
    vi.useFakeTimers();
    answerWith(() => 201);
    const queue = new UploadQueue('r', 'main');
    queue.add(files(10));
    queue.cancelAll();
    await vi.advanceTimersByTimeAsync(1000);
    expect(queue.get().counts).toMatchObject({ waiting: 0, sending: 0, cancelled: 10 });
  });
});
