// How conflicts of a merge are settled: patterns in order, the first that matches decides.

export type Take = 'source' | 'dest';

export interface Resolution {
  glob: string;
  take: Take;
}

/** Resolutions that one merge may have. */
export const resolutionsMax = 1000;

/** A pattern that matches this path alone. */
export function literalGlob(path: string): string {
  return path.replace(/[\\?*[\]{}]/g, (c) => `\\${c}`);
}

/** Decisions for single paths go before patterns. */
export function resolutionsOf(byPath: ReadonlyMap<string, Take>, patterns: readonly Resolution[]): Resolution[] {
  return [
    ...[...byPath].map(([path, take]) => ({ glob: literalGlob(path), take })),
    ...patterns.filter((item) => item.glob.trim() !== ''),
  ];
}
