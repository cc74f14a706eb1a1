import { guardedFetch } from '@/api/client';
import { errorOf } from '@/api/errors';
import type { ObjectStats } from './object_queries';

/** A selection is kept in memory until it is saved. */
const archiveBytesMax = 2e9;

function save(blob: Blob, name: string) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Fetches the selected objects and folders as one zip. */
export async function downloadArchive(repository: string, ref: string, items: readonly ObjectStats[]) {
  const base = `/api/v1/repositories/${encodeURIComponent(repository)}/refs/${encodeURIComponent(ref)}/objects`;
  const one = items.length === 1 ? items[0] : undefined;
  if (one?.path_type === 'common_prefix') {
    location.assign(`${base}/archive?format=zip&prefix=${encodeURIComponent(one.path)}`);
    return;
  }
  const paths: string[] = [];
  let bytes = 0;
  for (const item of items) {
    if (item.path_type === 'object') {
      paths.push(item.path);
      bytes += item.size_bytes ?? 0;
      continue;
    }
    let after = '';
    for (;;) {
      const response = await guardedFetch(new Request(`${base}/ls?amount=1000&prefix=${encodeURIComponent(item.path)}&after=${encodeURIComponent(after)}`));
      const page = (await response.json()) as { results: ObjectStats[]; pagination: { has_more: boolean; next_offset: string } };
      if (!response.ok) throw errorOf(response, page);
      for (const object of page.results) {
        paths.push(object.path);
        bytes += object.size_bytes ?? 0;
      }
      if (!page.pagination.has_more) break;
      after = page.pagination.next_offset;
    }
  }
  if (bytes > archiveBytesMax) throw new Error('The selection is larger than 2 GB. Select one folder, which is streamed to disk, or use tarn fs download.');
  const response = await guardedFetch(new Request(`${base}/archive?format=zip`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ paths }) }));
  if (!response.ok) throw errorOf(response, await response.json().catch(() => undefined));
  save(await response.blob(), `${repository}-${ref}.zip`);
}
