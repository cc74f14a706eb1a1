import type { Schemas } from '@/api/client';

/** Who made a commit. The first one of a repository has no user. */
export function authorOf({ committer }: Pick<Schemas['Commit'], 'committer'>): string {
  return committer || 'the server';
}

/** Metadata of a commit: that of users, and keys that only the server writes. */
export function metadataOf({ metadata }: Pick<Schemas['Commit'], 'metadata'>) {
  const all = Object.entries(metadata ?? {});
  const isInternal = ([key]: [string, string]) => key.startsWith('.lakefs.') || key.startsWith('.tarn.');
  return { given: all.filter((pair) => !isInternal(pair)), internal: all.filter(isInternal) };
}
