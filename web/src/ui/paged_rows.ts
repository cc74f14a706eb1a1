import { keepPreviousData, useQueries } from '@tanstack/react-query';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { asError } from '@/api/errors';
import { toast } from './toast';

export interface Page<Row> {
  results: Row[];
  pagination: { has_more: boolean; next_offset: string };
}

/** Rows before the end at which the next page is asked for: fewer than a page, so that a listing that is only opened takes one. */
const ahead = 100;
/** Between requests for rows that still change, and for new rows. */
const changingMs = 3000;
/** Pause before a page that failed is asked for again. */
const retryMs = 5000;
/** Rows that stand for those that are not known yet. */
const placeholders = 200;

/** Which pages are asked for again while the window is visible. */
interface Changes<Row> {
  /** Pages with such a row. */
  changing?: (row: Row) => boolean;
  /** The first page, where new rows appear. */
  grows?: boolean;
}

/**
 * The rows of a listing whose pages follow each other by `after`. Only pages near the visible rows are kept loaded, so a
 * listing of 10^6 rows costs no more memory than one of 10^4. Pass onRange to DataTable.
 */
export function usePagedRows<Row>(
  key: readonly unknown[],
  load: (after: string, signal: AbortSignal) => Promise<Page<Row>>,
  { changing, grows = false }: Changes<Row> = {},
) {
  const id = JSON.stringify(key);
  const fresh = { id, cursors: [''], sizes: [] as number[], ended: false, range: [0, 0] as [number, number] };
  const [kept, setKept] = useState(fresh);
  const state = kept.id === id ? kept : fresh;
  const { cursors, sizes, ended, range } = state;

  const starts = useMemo(() => {
    const out = [0];
    for (const size of sizes) out.push(out[out.length - 1]! + size);
    return out;
  }, [sizes]);
  const loaded = starts[sizes.length]!;
  const pageOf = (row: number) => {
    let low = 0;
    let high = sizes.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (starts[middle + 1]! <= row) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  const wanted: number[] = [];
  const firstPage = pageOf(range[0]);
  const lastPage = Math.min(cursors.length - 1, pageOf(Math.min(range[1] + ahead, Math.max(loaded, range[1]))));
  for (let page = Math.min(firstPage, cursors.length - 1); page <= lastPage; ++page) wanted.push(page);

  const queries = useQueries({
    queries: wanted.map((page) => ({
      queryKey: [...key, 'page', cursors[page]],
      queryFn: ({ signal }: { signal: AbortSignal }) => load(cursors[page]!, signal),
      placeholderData: keepPreviousData,
      gcTime: 30_000,
      refetchInterval: ({ state: { data } }: { state: { data?: Page<Row> | undefined } }) =>
        data && ((grows && page === 0) || (changing && data.results.some(changing))) ? changingMs : (false as const),
    })),
  });

  const pages = new Map<number, Page<Row>>();
  queries.forEach((query, index) => {
    if (query.data && !query.isPlaceholderData) pages.set(wanted[index]!, query.data as Page<Row>);
  });

  // The size of each page, and where the next one begins.
  // eslint-disable-next-line react-hooks/exhaustive-deps -- ends when the state has what the pages of this render say
  useEffect(() => {
    let next = state;
    for (const [page, data] of pages) {
      const after = data.pagination.has_more ? data.pagination.next_offset : null;
      const known = next.cursors[page + 1] ?? null;
      if (next.sizes[page] === data.results.length && known === after && (after !== null || next.ended)) continue;
      const same = known === after && after !== null;
      next = {
        ...next,
        sizes: [...next.sizes.slice(0, page), data.results.length, ...(same ? next.sizes.slice(page + 1) : [])],
        cursors: [
          ...next.cursors.slice(0, page + 1),
          ...(after === null ? [] : same ? next.cursors.slice(page + 1) : [after]),
        ],
        ended: after === null || (same && next.ended),
      };
    }
    if (next !== state) setKept(next);
  });

  const onRange = useCallback(
    (first: number, last: number) => {
      setKept((now) => {
        const base =
          now.id === id ? now : { id, cursors: [''], sizes: [], ended: false, range: [0, 0] as [number, number] };
        return base === now && now.range[0] === first && now.range[1] === last
          ? now
          : { ...base, range: [first, last] };
      });
    },
    [id],
  );

  const failed = queries.find((query) => query.error);
  // A first page that fails is shown with its failure by the table's page. Rows further down would stay empty for ever.
  const missing = failed !== undefined && loaded > 0 ? asError(failed.error).message : null;
  const again = useRef<() => void>(() => {});
  again.current = () => void failed?.refetch();
  useEffect(() => {
    if (missing === null) return;
    toast(`Some rows could not be loaded: ${missing} They are asked for again every ${retryMs / 1000} s.`);
    const timer = setInterval(() => {
      if (!document.hidden) again.current();
    }, retryMs);
    return () => clearInterval(timer);
  }, [missing]);
  return {
    /** Rows that are known, and some placeholders while there are more. */
    count: ended ? loaded : loaded + (loaded === 0 ? 0 : placeholders),
    loaded,
    ended,
    row: (index: number): Row | undefined => {
      if (index >= loaded) return undefined;
      const page = pageOf(index);
      return pages.get(page)?.results[index - starts[page]!];
    },
    onRange,
    /** Nothing has arrived yet. */
    isLoading: sizes.length === 0 && !failed,
    error: failed?.error ?? null,
    retry: () => void failed?.refetch(),
  };
}
