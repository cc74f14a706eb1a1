// Objects of a comparison that were marked as seen, kept in this window.
import type { Sides } from './diff_queries';

const marksMax = 5000;

function keyOf(sides: Sides) {
  return `tarn.seen.${sides.repository}/${sides.readLeft}...${sides.readRight}`;
}

function marks(sides: Sides): string[] {
  try {
    const value: unknown = JSON.parse(sessionStorage.getItem(keyOf(sides)) ?? '[]');
    return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
  } catch {
    return [];
  }
}

export function isSeen(sides: Sides, path: string): boolean {
  return marks(sides).includes(path);
}

export function toggleSeen(sides: Sides, path: string) {
  const before = marks(sides);
  const next = before.includes(path) ? before.filter((item) => item !== path) : [...before, path].slice(-marksMax);
  sessionStorage.setItem(keyOf(sides), JSON.stringify(next));
}
