import type { MouseEvent, ReactNode } from 'react';
import { stringifySearch } from '@/app/search_params';

interface RowLinkProps {
  /** Of the page without its parameters: "/r/digits/main/data". */
  path: string;
  search: Record<string, unknown>;
  onOpen: () => void;
  className?: string | undefined;
  children: ReactNode;
}

/** A link in a row of a table that scrolls: an anchor that costs less than the router's, with the same address. */
export function RowLink({ path, search, onOpen, className, children }: RowLinkProps) {
  const onClick = (event: MouseEvent) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    onOpen();
  };
  return (
    <a href={path + stringifySearch(search)} onClick={onClick} className={className}>
      {children}
    </a>
  );
}
