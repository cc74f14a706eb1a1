// Numbers, bytes and times as text. Exact values belong into a title beside them.

const grouped = new Intl.NumberFormat('en-US');

export function count(value: number): string {
  return grouped.format(value);
}

/** "1 object", "1,234 objects". */
export function counted(value: number, singular: string, plural = `${singular}s`): string {
  return `${count(value)} ${value === 1 ? singular : plural}`;
}

const units = ['B', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB'];

/** Three significant digits at most, in powers of 1000: "0 B", "999 B", "1.2 GB". */
export function bytes(value: number): string {
  let unit = 0;
  let scaled = value;
  while (unit < units.length - 1 && Math.abs(scaled) >= 1000) {
    scaled /= 1000;
    ++unit;
  }
  if (unit === 0) return `${count(value)} B`;
  let text = scaled.toFixed(Math.abs(scaled) < 9.95 ? 1 : 0);
  if (Math.abs(Number(text)) >= 1000 && unit < units.length - 1) {
    text = '1.0';
    ++unit;
  }
  return `${text} ${units[unit]}`;
}

export function exactBytes(value: number): string {
  return counted(value, 'byte');
}

const spans: [number, string][] = [
  [365 * 86_400, 'y'],
  [30 * 86_400, 'mo'],
  [86_400, 'd'],
  [3600, 'h'],
  [60, 'min'],
];

/** "just now", "5 min ago", "in 3 d". */
export function relativeTime(then: Date, now: Date): string {
  const seconds = (now.getTime() - then.getTime()) / 1000;
  const distance = Math.abs(seconds);
  if (distance < 60) return seconds >= -1 ? 'just now' : 'in less than 1 min';
  for (const [length, name] of spans) {
    if (distance >= length) {
      const text = `${Math.floor(distance / length)} ${name}`;
      return seconds > 0 ? `${text} ago` : `in ${text}`;
    }
  }
  return 'just now';
}

/** In local time, with the zone: "2026-11-25 15:04:05 UTC+1". */
export function exactTime(then: Date, timeZone?: string): string {
  const parts = Object.fromEntries(
    new Intl.DateTimeFormat('en-GB', {
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      timeZoneName: 'shortOffset',
      timeZone,
    })
      .formatToParts(then)
      .map((part) => [part.type, part.value]),
  );
  const zone = parts.timeZoneName?.replace('GMT', 'UTC').replace(/[+-]0$/, '');
  return `${parts.year}-${parts.month}-${parts.day} ${parts.hour}:${parts.minute}:${parts.second} ${zone}`;
}

/** "12 ms", "0.4 s", "12 s", "3 min 5 s", "24 h": a smaller unit that is zero is left out. */
export function duration(seconds: number): string {
  if (seconds < 0.0995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const whole = Math.round(seconds);
  const parts = (first: string, value: number, second: string) => (value === 0 ? first : `${first} ${value} ${second}`);
  if (whole < 3600) return parts(`${Math.floor(whole / 60)} min`, whole % 60, 's');
  return parts(`${Math.floor(whole / 3600)} h`, Math.floor((whole % 3600) / 60), 'min');
}

/** Controls, and characters that turn the direction of text around, as codes: "photo\u202egnp.exe" is no picture. */
export function visible(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (c) => `[U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}]`,
  );
}

/** The first twelve characters of a commit's id; other refs as they are. */
export function shortRef(ref: string): string {
  return /^[0-9a-f]{64}$/.test(ref) ? ref.slice(0, 12) : ref;
}
