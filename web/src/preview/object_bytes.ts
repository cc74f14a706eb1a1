import { useQuery } from '@tanstack/react-query';
import { failureOf, guardedFetch, objectUrl } from '@/api/client';

/** The object that is shown: one state of it, by its checksum. */
export interface Shown {
  repository: string;
  ref: string;
  path: string;
  size: number;
  checksum: string;
  contentType: string | undefined;
}

/** Some bytes of an object; fewer at its end. */
export async function readBytes(
  shown: Shown,
  from: number,
  to: number,
  signal?: AbortSignal,
): Promise<Uint8Array<ArrayBuffer>> {
  const end = Math.min(to, shown.size);
  if (end <= from) return new Uint8Array();
  const response = await guardedFetch(
    new Request(objectUrl(shown.repository, shown.ref, shown.path), {
      headers: { Range: `bytes=${from}-${end - 1}` },
      ...(signal ? { signal } : {}),
    }),
  );
  if (!response.ok) throw failureOf(response, await response.json().catch(() => undefined));
  return new Uint8Array(await response.arrayBuffer());
}

/** The first bytes of an object. */
export function useBytes(shown: Shown, limit: number) {
  return useQuery({
    queryKey: ['bytes', shown.repository, shown.ref, shown.path, shown.checksum, limit],
    staleTime: Infinity,
    gcTime: 60_000,
    queryFn: ({ signal }) => readBytes(shown, 0, limit, signal),
  });
}

/** UTF-8 with broken bytes replaced; null if it is not text. A character that a cut has split is left out. */
export function decodeText(bytes: Uint8Array, isCut: boolean): string | null {
  const sample = bytes.subarray(0, 4096);
  if (sample.includes(0)) return null;
  const text = new TextDecoder('utf-8').decode(bytes, { stream: isCut });
  const broken = [...text.slice(0, 4096)].filter((c) => c === '\ufffd').length;
  return broken > 0.1 * Math.min(4096, text.length) && text.length > 0 ? null : text;
}

/** Whether bytes without a known kind are text: UTF-8 without control characters. */
export function isPlainText(bytes: Uint8Array, isCut: boolean): boolean {
  try {
    return !/[\u0000-\u0008\u000e-\u001a\u001c-\u001f\u007f]/.test(
      new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isCut }),
    );
  } catch {
    return false;
  }
}
