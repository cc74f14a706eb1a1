import { describe, expect, it } from 'vitest';
import { bytes, count, counted, duration, exactTime, relativeTime, shortRef, visible } from './format';

describe('bytes', () => {
  it('has at most three digits and the next unit in time', () => {
    expect([0, 1, 999, 1000, 9949, 9960, 999_499, 999_600, 1.24e9, 2e18].map(bytes)).toEqual([
      '0 B',
      '1 B',
      '999 B',
      '1.0 KB',
      '9.9 KB',
      '10 KB',
      '999 KB',
      '1.0 MB',
      '1.2 GB',
      '2.0 EB',
    ]);
  });
});

describe('counts', () => {
  it('group digits and agree with their noun', () => {
    expect(count(1_234_567)).toBe('1,234,567');
    expect(counted(1, 'object')).toBe('1 object');
    expect(counted(0, 'object')).toBe('0 objects');
    expect(counted(2, 'entry', 'entries')).toBe('2 entries');
  });
});

describe('times', () => {
  const now = new Date('2026-11-25T12:00:00Z');
  const before = (seconds: number) => relativeTime(new Date(now.getTime() - seconds * 1000), now);
  it('are relative in one unit', () => {
    expect([0, 59, 60, 3599, 3600, 86_400, 40 * 86_400, 800 * 86_400].map(before)).toEqual([
      'just now',
      'just now',
      '1 min ago',
      '59 min ago',
      '1 h ago',
      '1 d ago',
      '1 mo ago',
      '2 y ago',
    ]);
    expect(before(-7200)).toBe('in 2 h');
    expect(before(-30)).toBe('in less than 1 min');
  });
  it('are exact with their zone', () => {
    expect(exactTime(now, 'UTC')).toBe('2026-11-25 12:00:00 UTC');
    expect(exactTime(now, 'Europe/Berlin')).toBe('2026-11-25 13:00:00 UTC+1');
  });
  it('have durations', () => {
    expect([0, 0.012, 0.0999, 0.44, 12.2, 185, 3725].map(duration)).toEqual([
      '0 ms',
      '12 ms',
      '0.1 s',
      '0.4 s',
      '12 s',
      '3 min 5 s',
      '1 h 2 min',
    ]);
    expect([60, 3600, 3630, 86400].map(duration)).toEqual(['1 min', '1 h', '1 h', '24 h']);
  });
});

describe('names', () => {
  it('show what would be invisible or turn text around', () => {
    expect(visible('photo\u202egnp.exe')).toBe('photo[U+202E]gnp.exe');
    expect(visible('a\nb\u0000\u200b')).toBe('a[U+000A]b[U+0000][U+200B]');
    expect(visible('grün 日本 e\u0301 👍')).toBe('grün 日本 e\u0301 👍');
  });
});

describe('refs', () => {
  it('are short if they are ids of commits', () => {
    expect(shortRef('a'.repeat(64))).toBe('a'.repeat(12));
    expect(shortRef('main~3')).toBe('main~3');
  });
});
