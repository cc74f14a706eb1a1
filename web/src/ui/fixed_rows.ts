import { type RefObject, useCallback, useLayoutEffect, useState } from 'react';

/** Elements higher than this are cut off by browsers; past it, scrolling is scaled. */
export const heightMax = 15_000_000;
const overscan = 10;

export interface Window {
  /** First and one past the last row to render. */
  first: number;
  last: number;
  /** Of the element that makes the scroll bar. */
  height: number;
  /** Distance of a row from the top of that element. */
  top: (row: number) => number;
}

/** The rows of equal height that are visible at a scroll position. */
export function visibleRows(count: number, rowHeight: number, scrollTop: number, viewHeight: number): Window {
  const total = count * rowHeight;
  const height = Math.min(total, heightMax);
  const scale = height === total || height <= viewHeight ? 1 : (total - viewHeight) / (height - viewHeight);
  const offset = Math.min(Math.max(0, scrollTop), Math.max(0, height - viewHeight)) * scale;
  const first = Math.max(0, Math.floor(offset / rowHeight) - overscan);
  const last = Math.min(count, Math.ceil((offset + viewHeight) / rowHeight) + overscan);
  const shift = scale === 1 ? 0 : offset - offset / scale;
  return { first, last, height, top: (row) => row * rowHeight - shift };
}

/** The scroll position that shows a row, or null if it is visible. */
export function scrollToShow(
  row: number,
  count: number,
  rowHeight: number,
  scrollTop: number,
  viewHeight: number,
): number | null {
  const total = count * rowHeight;
  const height = Math.min(total, heightMax);
  const scale = height === total || height <= viewHeight ? 1 : (total - viewHeight) / (height - viewHeight);
  const offset = scrollTop * scale;
  const top = row * rowHeight;
  if (top < offset) return top / scale;
  if (top + rowHeight > offset + viewHeight) return (top + rowHeight - viewHeight) / scale;
  return null;
}

/** Windowing of `count` rows in a scrolling element; `headerHeight` of it is covered by a sticky header. */
export function useFixedRows(
  scroller: RefObject<HTMLElement | null>,
  count: number,
  rowHeight: number,
  headerHeight = 0,
) {
  const [view, setView] = useState({ top: 0, height: 640 });
  const read = useCallback(() => {
    const element = scroller.current;
    if (!element) return;
    const next = { top: element.scrollTop, height: Math.max(rowHeight, element.clientHeight - headerHeight) };
    setView((now) => (now.top === next.top && now.height === next.height ? now : next));
  }, [scroller, rowHeight, headerHeight]);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    read();
    element.addEventListener('scroll', read, { passive: true });
    const observer = new ResizeObserver(read);
    observer.observe(element);
    return () => {
      element.removeEventListener('scroll', read);
      observer.disconnect();
    };
  }, [scroller, read]);
  const show = useCallback(
    (row: number) => {
      const element = scroller.current;
      if (!element) return;
      const to = scrollToShow(
        row,
        count,
        rowHeight,
        element.scrollTop,
        Math.max(rowHeight, element.clientHeight - headerHeight),
      );
      if (to !== null) element.scrollTop = to;
    },
    [scroller, count, rowHeight, headerHeight],
  );
  return { ...visibleRows(count, rowHeight, view.top, view.height), show };
}
