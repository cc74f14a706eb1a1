import { failureOf, guardedFetch } from '@/api/client';
import type { ObjectStats } from './object_queries';

/** Larger selections are written to a file while they arrive, where the browser can. */
const heldBytes = 32e6;
/** Of a selection that is kept in memory until it is saved. */
const heldBytesMax = 2e9;

type SavePicker = (options: {
  suggestedName: string;
}) => Promise<{ createWritable: () => Promise<WritableStream<Uint8Array>> }>;

/** Chromium has it, on TLS and loopback. It has to be asked for while the press of the button counts, so before anything is listed. */
function savePicker(): SavePicker | undefined {
  const picker = (window as { showSaveFilePicker?: SavePicker }).showSaveFilePicker;
  return picker?.bind(window);
}

function save(blob: Blob, name: string) {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Saves the selected objects and folders as one zip. */
export async function downloadArchive(repository: string, ref: string, items: readonly ObjectStats[]) {
  const base = `/api/v1/repositories/${encodeURIComponent(repository)}/refs/${encodeURIComponent(ref)}/objects`;
  const one = items.length === 1 ? items[0] : undefined;
  if (one?.path_type === 'common_prefix') {
    location.assign(`${base}/archive?format=zip&prefix=${encodeURIComponent(one.path)}`);
    return;
  }
  const name = `${repository}-${ref}.zip`;
  const known = items.reduce((sum, item) => sum + (item.size_bytes ?? 0), 0);
  const mayBeLarge = known > heldBytes || items.some((item) => item.path_type !== 'object');
  const pick = mayBeLarge ? savePicker() : undefined;
  let file: Awaited<ReturnType<SavePicker>> | undefined;
  try {
    file = await pick?.({ suggestedName: name });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') return; // no file was chosen
    throw error;
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
      const response = await guardedFetch(
        new Request(
          `${base}/ls?amount=1000&prefix=${encodeURIComponent(item.path)}&after=${encodeURIComponent(after)}`,
        ),
      );
      const page = (await response.json()) as {
        results: ObjectStats[];
        pagination: { has_more: boolean; next_offset: string };
      };
      if (!response.ok) throw failureOf(response, page);
      for (const object of page.results) {
        paths.push(object.path);
        bytes += object.size_bytes ?? 0;
      }
      if (!page.pagination.has_more) break;
      after = page.pagination.next_offset;
    }
  }
  if (!file && bytes > heldBytesMax)
    throw new Error(
      'The selection is larger than 2 GB, which this browser would keep in memory. Select one folder, which is streamed to disk, or use tarn fs download.',
    );
  const response = await guardedFetch(
    new Request(`${base}/archive?format=zip`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ paths }),
    }),
  );
  if (!response.ok) throw failureOf(response, await response.json().catch(() => undefined));
  if (file && response.body) await response.body.pipeTo(await file.createWritable());
  else save(await response.blob(), name);
}
