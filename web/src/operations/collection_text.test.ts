import { describe, expect, it } from 'vitest';
import { nextCollection, progressText } from './collection_text';

const now = new Date('2026-11-25T12:00:00Z');
const text = (retry_date: string | undefined, retries_left: number | undefined, requested = true) =>
  nextCollection(
    { requested, ...(retry_date ? { retry_date } : {}), ...(retries_left === undefined ? {} : { retries_left }) },
    now,
  )?.text;

describe('the next collection', () => {
  it('is a retry: when, and how many are left', () => {
    expect(text('2026-11-25T12:04:30Z', 3)).toBe(
      'The newest collection failed and is retried in 4 min; 3 more retries if that fails too',
    );
    expect(text('2026-11-25T12:00:30Z', 1)).toBe(
      'The newest collection failed and is retried in less than 1 min; 1 more retry if that fails too',
    );
    expect(text('2026-11-25T12:32:00Z', 0)).toBe(
      'The newest collection failed and is retried in 32 min; this is the last retry',
    );
    expect(
      nextCollection({ requested: true, retry_date: '2026-11-25T12:04:30Z', retries_left: 3 }, now)?.title,
    ).toContain('2026-11-25');
  });
  it('is late while no server has begun it', () => {
    expect(text('2026-11-25T11:59:00Z', 2)).toBe(
      'The newest collection failed and is retried now; 2 more retries if that fails too',
    );
  });
  it('is a request, or none', () => {
    expect(text(undefined, undefined)).toBe('A collection is requested; it begins when earlier requests have ended');
    expect(text(undefined, undefined, false)).toBeUndefined();
  });
});

describe('the progress of a collection', () => {
  const step = { step: 'mark', start_date: '2026-11-25T12:00:00Z', done: 1200 } as const;
  it('says what is known', () => {
    expect(progressText(step)).toBe('mark: 1,200');
    expect(progressText({ ...step, total: 5000, rate_per_second: 300, seconds_left: 13 })).toBe(
      'mark: 1,200 of about 5,000, 300 a second, about 13 s left',
    );
  });
});
