import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { Icon, type IconName } from './icon';
import { useFixedRows } from './fixed_rows';
import styles from './pick_list.module.css';

const rowHeight = 32;

export interface Pick {
  id: string;
  label: string;
  detail?: string | undefined;
  icon?: IconName;
  group: string;
}

interface PickListProps<P extends Pick> {
  label: string;
  placeholder: string;
  query: string;
  onQuery: (query: string) => void;
  /** Those of a group follow each other. */
  picks: readonly P[];
  onPick: (pick: P) => void;
  /** Instead of picks when there are none. */
  empty: ReactNode;
  /** Picks of this query may still come; Enter waits for them. */
  isLoading?: boolean;
  /** Marked as the present choice. */
  current?: string;
}

type Line<P> = { heading: string } | { pick: P };

/** A field to type into with a list below: arrows move, Enter chooses. Thousands of picks stay quick. */
export function PickList<P extends Pick>({
  label,
  placeholder,
  query,
  onQuery,
  picks,
  onPick,
  empty,
  isLoading,
  current,
}: PickListProps<P>) {
  const id = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const field = useRef<HTMLInputElement>(null);
  // Not by autoFocus: inside a dialog that is too early, and the dialog takes the focus back.
  useEffect(() => field.current?.focus(), []);
  const lines: Line<P>[] = [];
  const positions: number[] = [];
  for (const pick of picks) {
    const before = lines[lines.length - 1];
    if (!before || !('pick' in before) || before.pick.group !== pick.group) lines.push({ heading: pick.group });
    positions.push(lines.length);
    lines.push({ pick });
  }
  const [at, setAt] = useState({ query, index: 0 });
  const index = at.query === query ? Math.min(at.index, picks.length - 1) : 0;
  const window = useFixedRows(scroller, lines.length, rowHeight);
  const line = positions[index] ?? -1;

  // The query whose Enter came before its picks. Typing, moving and clicking take that Enter back.
  const [entered, setEntered] = useState<string | null>(null);
  useEffect(() => {
    if (entered === null || isLoading) return;
    setEntered(null);
    const pick = picks[index];
    if (pick && entered === query) onPick(pick);
  }, [entered, isLoading, picks, index, query, onPick]);

  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = {
      ArrowDown: index + 1,
      ArrowUp: index - 1,
      PageDown: index + 8,
      PageUp: index - 8,
    };
    if (event.key in steps && picks.length > 0) {
      const next = Math.max(0, Math.min(picks.length - 1, steps[event.key]!));
      setAt({ query, index: next });
      setEntered(null);
      window.show(next === 0 ? 0 : positions[next]!);
    } else if (event.key === 'Enter') {
      if (!event.repeat) setEntered(query);
    } else return;
    event.preventDefault();
  };

  const shown: ReactNode[] = [];
  for (let row = window.first; row < window.last; ++row) {
    const item = lines[row]!;
    const style = { transform: `translateY(${window.top(row)}px)` };
    if ('heading' in item) {
      shown.push(
        <div key={`h${row}`} role="presentation" className={styles.heading} style={style}>
          {item.heading}
        </div>,
      );
      continue;
    }
    const { pick } = item;
    shown.push(
      <div
        key={`${pick.group}/${pick.id}`}
        id={`${id}-${row}`}
        role="option"
        aria-selected={row === line}
        className={`${styles.option} ${row === line ? styles.at : ''}`}
        style={style}
        onMouseMove={() => {
          if (row !== line) setAt({ query, index: positions.indexOf(row) });
        }}
        onClick={() => {
          setEntered(null);
          onPick(pick);
        }}
      >
        {pick.icon && <Icon name={pick.icon} />}
        <span className={styles.label} title={pick.label}>
          {pick.label}
        </span>
        {pick.detail && <span className={styles.detail}>{pick.detail}</span>}
        {current === pick.id && <Icon name="check" />}
      </div>,
    );
  }
  return (
    <div className={styles.picker}>
      <div className={styles.field}>
        <Icon name="search" />
        <input
          ref={field}
          role="combobox"
          aria-label={label}
          aria-expanded={picks.length > 0}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={line >= window.first && line < window.last ? `${id}-${line}` : undefined}
          placeholder={placeholder}
          value={query}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => {
            setEntered(null);
            onQuery(event.target.value);
            if (scroller.current) scroller.current.scrollTop = 0;
          }}
          onKeyDown={onKeyDown}
        />
      </div>
      <div
        ref={scroller}
        className={styles.list}
        tabIndex={0}
        onKeyDown={onKeyDown}
        style={{ height: Math.min(12, Math.max(1, lines.length)) * rowHeight }}
      >
        <div
          id={`${id}-list`}
          role="listbox"
          aria-label={label}
          className={styles.body}
          style={{ height: window.height }}
        >
          {shown}
        </div>
      </div>
      {picks.length === 0 && (
        <div className={styles.empty} role="status">
          {isLoading ? 'Loading…' : empty}
        </div>
      )}
    </div>
  );
}
