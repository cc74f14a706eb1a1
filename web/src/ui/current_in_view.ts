import { useEffect, useRef } from 'react';
import { useNarrow } from './data_table';

/** A ref for a list of links or tabs that scrolls sideways: the current one comes into view. */
export function useCurrentInView<E extends HTMLElement>(current: unknown) {
  const list = useRef<E>(null);
  const narrow = useNarrow();
  useEffect(() => {
    list.current
      ?.querySelector('[aria-current="page"], [aria-selected="true"]')
      ?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [current, narrow]);
  return list;
}
