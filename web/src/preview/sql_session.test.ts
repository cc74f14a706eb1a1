import { afterEach, describe, expect, it, vi } from 'vitest';
import { SqlSession } from './sql_session';
import type { SqlAnswer } from './sql_worker';

/** Workers that were started, each with what it answers. */
let started: FakeWorker[] = [];

class FakeWorker {
  onmessage: ((event: { data: SqlAnswer }) => void) | undefined;
  isEnded = false;

  constructor() {
    started.push(this);
  }

  postMessage() {}

  terminate() {
    this.isEnded = true;
  }

  answers(...all: SqlAnswer[]) {
    for (const data of all) this.onmessage?.({ data });
  }
}

describe('the worker of a session', () => {
  afterEach(() => {
    vi.unstubAllGlobals();
    started = [];
  });

  it.each([
    ['ends when the engine did not open', [{ error: 'refused' }], 2],
    ['goes on after a query that failed', ['ready', { error: 'refused' }], 1],
  ] as [string, SqlAnswer[], number][])('%s', async (_, answers, workers) => {
    vi.stubGlobal('Worker', FakeWorker);
    const session = new SqlSession({ repository: 'r', ref: 'main', path: 'a.csv', size: 1 } as never, 'csv');
    const failed = session.ask('FROM object');
    started[0]!.answers(...answers);
    await expect(failed).rejects.toThrow('refused');
    expect(started[0]!.isEnded).toBe(workers === 2);
    void session.ask('FROM object');
    expect(started).toHaveLength(workers);
  });
});
