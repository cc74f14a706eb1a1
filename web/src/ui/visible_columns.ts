import { type RefObject, useLayoutEffect, useState } from 'react';

const overscan = 2;

/** First and one past the last column to render of those after the pinned ones; `widths` in pixels, `left` before the first. */
export function visibleColumns(
  widths: readonly number[],
  pinned: number,
  left: number,
  scrollLeft: number,
  viewWidth: number,
): [number, number] {
  let at = left;
  let first = pinned;
  let last = pinned;
  for (let index = 0; index < widths.length; ++index) {
    const end = at + widths[index]!;
    if (index >= pinned) {
      if (end <= scrollLeft) first = index + 1;
      if (at < scrollLeft + viewWidth) last = index + 1;
    }
    at = end;
  }
  first = Math.min(first, Math.max(pinned, widths.length - 1));
  return [Math.max(pinned, first - overscan), Math.min(widths.length, Math.max(first, last) + overscan)];
}

/** The columns in view of a table that scrolls sideways; all without widths. */
export function useVisibleColumns(
  scroller: RefObject<HTMLElement | null>,
  widths: readonly number[] | null,
  pinned: number,
  left: number,
): [number, number] {
  const key = widths?.join();
  const [range, setRange] = useState<[number, number]>([pinned, pinned + 12]);
  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element || !widths) return;
    const read = () =>
      setRange((now) => {
        const next = visibleColumns(widths, pinned, left, element.scrollLeft, element.clientWidth);
        return now[0] === next[0] && now[1] === next[1] ? now : next;
      });
    read();
    element.addEventListener('scroll', read, { passive: true });
    const observer = new ResizeObserver(read);
    observer.observe(element);
    return () => {
      element.removeEventListener('scroll', read);
      observer.disconnect();
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the widths as a text: each render has another array of them
  }, [scroller, key, pinned, left]);
  return widths ? range : [pinned, Infinity];
}
