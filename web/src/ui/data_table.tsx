import {
  type CSSProperties,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  memo,
  useEffect,
  useId,
  useRef,
  useState,
} from 'react';
import { useFixedRows } from './fixed_rows';
import { useVisibleColumns } from './visible_columns';
import styles from './data_table.module.css';

const rowHeight = 32;
const selectWidth = 32;

export interface Column<Row> {
  id: string;
  header: string;
  cell: (row: Row) => ReactNode;
  /** A track of CSS grid: "96px", "minmax(160px, 2fr)". */
  width: string;
  numeric?: boolean;
  /** The header is only read aloud. */
  hideHeader?: boolean;
  /** The header is a button that sorts; the value is what onSort gets. */
  sort?: string;
  /** Left out below 720 pixels. */
  wideOnly?: boolean;
}

export interface Sorting {
  by: string;
  descending: boolean;
}

interface DataTableProps<Row> {
  /** Names the table to screen readers. */
  label: string;
  columns: readonly Column<Row>[];
  count: number;
  /** undefined = not loaded yet; it gets a placeholder. */
  row: (index: number) => Row | undefined;
  rowKey: (row: Row) => string;
  /** The rendered rows, so that they can be loaded. */
  onRange?: (first: number, last: number) => void;
  /** Enter, or a click beside links. */
  onOpen?: (row: Row) => void;
  /** The row whose details are open. */
  activeKey?: string | undefined;
  selected?: ReadonlySet<string>;
  onSelect?: (keys: ReadonlySet<string>) => void;
  /** Which rows can be selected; all without it. */
  selectable?: (row: Row) => boolean;
  sorting?: Sorting | undefined;
  onSort?: (sorting: Sorting) => void;
  /** Instead of the keys, where the rows before or behind those that are known are somewhere else. */
  onHome?: (() => void) | undefined;
  onEnd?: (() => void) | undefined;
  /** Where the rows are shown from when this changes. */
  shows?: 'start' | 'end' | undefined;
  /** Instead of rows when there are none. */
  empty?: ReactNode;
  /** Fills its parent and scrolls inside; otherwise it is at most 20 rows high. */
  fill?: boolean;
  /** So many first columns stay while the others scroll sideways, of which only the visible ones exist; all widths are then pixels. */
  pinned?: number;
}

/** Styles of one cell's place, and the class of a pinned one. */
interface Place {
  style?: CSSProperties;
  pinned: boolean;
}

/** Where the cells of a row stand; `left` is what precedes them. */
function placesOf(columns: readonly { width: string }[], pinned: number, left: number): Place[] {
  let at = left;
  return columns.map((column, index) => {
    if (pinned === 0) return { pinned: false };
    const gridColumn = index + (left > 0 ? 2 : 1);
    if (index >= pinned) return { style: { gridColumn }, pinned: false };
    const place: Place = { style: { left: at, gridColumn }, pinned: true };
    at += Number.parseInt(column.width, 10);
    return place;
  });
}

/** Below it a table scrolls sideways: what the tracks of its columns have at least, in pixels. */
export function leastWidth(columns: readonly { width: string }[], left: number): number {
  return columns.reduce((sum, { width }) => sum + Number(/\d+/.exec(width)?.[0] ?? 0), left);
}

/**
 * A table of rows of 32 pixels of which only the visible ones exist: 10^6 rows scroll as ten do. Arrows, Home, End and
 * page keys move, Enter opens, Space selects, Shift extends.
 */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const {
    label,
    columns,
    count,
    row,
    rowKey,
    onRange,
    onOpen,
    activeKey,
    selected,
    onSelect,
    selectable,
    sorting,
    onSort,
    onHome,
    onEnd,
    shows,
    empty,
    fill,
    pinned = 0,
  } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const id = useId();
  const [cursor, setCursor] = useState(-1);
  const anchor = useRef(0);
  const narrow = useNarrow();
  const shown = narrow ? columns.filter((column) => !column.wideOnly) : columns;
  const window = useFixedRows(scroller, count, rowHeight, rowHeight);
  const { first, last } = window;
  useEffect(() => onRange?.(first, last), [onRange, first, last]);

  const at = Math.min(cursor, count - 1);
  const template = `${onSelect ? '32px ' : ''}${shown.map((column) => column.width).join(' ')}`;
  const canSelect = (item: Row) => selectable?.(item) ?? true;
  const kept = narrow ? Math.min(1, pinned) : pinned;
  const left = onSelect ? selectWidth : 0;
  const places = placesOf(shown, kept, left);
  const widths = pinned > 0 ? shown.map((column) => Number.parseInt(column.width, 10)) : null;
  const minWidth = `max(100%, ${leastWidth(shown, left)}px)`;
  const [from, to] = useVisibleColumns(scroller, widths, kept, left);

  const move = (to: number, extend: boolean) => {
    const next = Math.max(0, Math.min(count - 1, to));
    setCursor(next);
    window.show(next);
    if (extend && onSelect) selectRange(anchor.current, next);
    else anchor.current = next;
  };
  const selectRange = (from: number, to: number) => {
    const keys = new Set(selected);
    for (let index = Math.min(from, to); index <= Math.max(from, to); ++index) {
      const item = row(index);
      if (item !== undefined && canSelect(item)) keys.add(rowKey(item));
    }
    onSelect?.(keys);
  };
  const toggle = (item: Row) => {
    if (!canSelect(item)) return;
    const keys = new Set(selected);
    if (!keys.delete(rowKey(item))) keys.add(rowKey(item));
    onSelect?.(keys);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== scroller.current || event.altKey || event.ctrlKey || event.metaKey) return;
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 640) / rowHeight) - 2);
    const steps: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + page,
      PageUp: at - page,
      Home: 0,
      End: count - 1,
    };
    const item = at >= 0 ? row(at) : undefined;
    if (event.key === 'Home' && onHome) onHome();
    else if (event.key === 'End' && onEnd) onEnd();
    else if (event.key in steps && count > 0) move(steps[event.key]!, event.shiftKey);
    else if (event.key === 'Enter' && item !== undefined) onOpen?.(item);
    else if (event.key === ' ' && item !== undefined && onSelect) toggle(item);
    else return;
    event.preventDefault();
  };

  const showLast = useRef<() => void>(() => {});
  showLast.current = () => move(count - 1, false);
  useEffect(() => {
    if (shows === 'end' && count > 0) showLast.current();
  }, [shows, count]);
  useEffect(() => {
    if (shows !== 'start') return;
    setCursor(-1);
    if (scroller.current) scroller.current.scrollTop = 0;
  }, [shows]);

  const handlers = useRef<RowHandlers>(null!);
  handlers.current = {
    toggle: (index, shift) => {
      const item = row(index);
      if (item === undefined) return;
      if (shift) selectRange(anchor.current, index);
      else {
        anchor.current = index;
        toggle(item);
      }
    },
    press: (index) => {
      const item = row(index);
      setCursor(index);
      anchor.current = index;
      if (item !== undefined) onOpen?.(item);
    },
  };

  const items: ReactNode[] = [];
  for (let index = first; index < last; ++index) {
    const item = row(index);
    const key = item === undefined ? undefined : rowKey(item);
    items.push(
      <RowView
        key={index}
        id={`${id}-${index}`}
        index={index}
        item={item}
        columns={shown}
        top={window.top(index)}
        template={template}
        isCursor={index === at}
        isActive={key !== undefined && key === activeKey}
        isSelected={key !== undefined && (selected?.has(key) ?? false)}
        canSelect={item !== undefined && canSelect(item)}
        selecting={onSelect !== undefined}
        places={places}
        kept={kept}
        from={from}
        to={to}
        name={key ?? ''}
        handlers={handlers}
      />,
    );
  }
  return (
    <div
      ref={scroller}
      role="grid"
      aria-label={label}
      aria-rowcount={count + 1}
      aria-colcount={widths ? widths.length + (onSelect ? 1 : 0) : undefined}
      tabIndex={0}
      onKeyDown={onKeyDown}
      aria-multiselectable={onSelect ? true : undefined}
      aria-activedescendant={at >= first && at < last ? `${id}-${at}` : undefined}
      className={`${styles.table} ${fill ? styles.fill : ''}`}
      style={fill ? undefined : { maxHeight: 21 * rowHeight }}
    >
      <div role="row" aria-rowindex={1} className={styles.head} style={{ gridTemplateColumns: template, minWidth }}>
        {onSelect && (
          <SelectAll
            pinned={places[0]?.pinned === true}
            count={count}
            row={row}
            rowKey={rowKey}
            canSelect={canSelect}
            selected={selected}
            onSelect={onSelect}
          />
        )}
        {shown.map((column, index) => (
          <div
            key={column.id}
            role="columnheader"
            className={`${styles.cell} ${column.numeric ? styles.numeric : ''} ${places[index]!.pinned ? styles.pinned : ''}`}
            style={places[index]!.style}
            aria-sort={
              sorting && sorting.by === column.sort ? (sorting.descending ? 'descending' : 'ascending') : undefined
            }
          >
            {column.sort && onSort ? (
              <button
                type="button"
                className={styles.sort}
                onClick={() =>
                  onSort({
                    by: column.sort!,
                    descending: sorting?.by === column.sort ? !sorting?.descending : column.numeric === true,
                  })
                }
              >
                <span className={styles.title} title={column.header}>
                  {column.header}
                </span>
                <span aria-hidden="true" className={styles.arrow}>
                  {sorting?.by === column.sort ? (sorting?.descending ? '▾' : '▴') : ''}
                </span>
              </button>
            ) : column.hideHeader ? (
              <span className="visually-hidden">{column.header}</span>
            ) : (
              <span className={styles.title} title={column.header}>
                {column.header}
              </span>
            )}
          </div>
        ))}
      </div>
      {count === 0 && empty ? (
        <div role="row">
          <div role="gridcell">{empty}</div>
        </div>
      ) : (
        <div role="rowgroup" className={styles.body} style={{ height: window.height, minWidth }}>
          {items}
        </div>
      )}
    </div>
  );
}

/** Those of the latest render: rows that stay the same are not rendered again. */
interface RowHandlers {
  toggle: (index: number, shift: boolean) => void;
  press: (index: number) => void;
}

interface RowViewProps<Row> {
  id: string;
  index: number;
  item: Row | undefined;
  columns: readonly Column<Row>[];
  top: number;
  template: string;
  isCursor: boolean;
  isActive: boolean;
  isSelected: boolean;
  canSelect: boolean;
  places: readonly Place[];
  /** Pinned columns, and the range of the others that are rendered. */
  kept: number;
  from: number;
  to: number;
  selecting: boolean;
  name: string;
  handlers: RefObject<RowHandlers>;
}

function PlainRow<Row>({
  id,
  index,
  item,
  columns,
  top,
  template,
  isCursor,
  isActive,
  isSelected,
  canSelect,
  selecting,
  places,
  kept,
  from,
  to,
  name,
  handlers,
}: RowViewProps<Row>) {
  return (
    <div
      role="row"
      id={id}
      aria-rowindex={index + 2}
      aria-selected={selecting ? isSelected : undefined}
      className={`${styles.row} ${isCursor ? styles.cursor : ''} ${isActive ? styles.active : ''} ${isSelected ? styles.selected : ''}`}
      style={{ gridTemplateColumns: template, transform: `translateY(${top}px)` }}
      onClick={(event) => {
        if (!(event.target as Element).closest('a, button, input, label')) handlers.current.press(index);
      }}
    >
      {selecting && (
        <div
          role="gridcell"
          aria-colindex={places[0]?.pinned ? 1 : undefined}
          className={`${styles.cell} ${places[0]?.pinned ? styles.pinned : ''}`}
          style={places[0]?.pinned ? { left: 0, gridColumn: 1 } : undefined}
        >
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`Select ${name}`}
            checked={isSelected}
            disabled={!canSelect}
            readOnly
            onClick={(event) => {
              event.stopPropagation();
              handlers.current.toggle(index, event.shiftKey);
            }}
          />
        </div>
      )}
      {columns.map(
        (column, at) =>
          (at < kept || (at >= from && at < to)) && (
            <div
              key={column.id}
              role="gridcell"
              aria-colindex={places[at]!.style ? at + (selecting ? 2 : 1) : undefined}
              className={`${styles.cell} ${column.numeric ? styles.numeric : ''} ${places[at]!.pinned ? styles.pinned : ''}`}
              style={places[at]!.style}
            >
              {item === undefined ? <span className={styles.placeholder} /> : column.cell(item)}
            </div>
          ),
      )}
    </div>
  );
}

const RowView = memo(
  PlainRow,
  (before, after) =>
    before.item === after.item &&
    before.columns === after.columns &&
    before.top === after.top &&
    before.template === after.template &&
    before.isCursor === after.isCursor &&
    before.isActive === after.isActive &&
    before.isSelected === after.isSelected &&
    before.canSelect === after.canSelect &&
    before.kept === after.kept &&
    before.from === after.from &&
    before.to === after.to,
) as typeof PlainRow;

interface SelectAllProps<Row> {
  pinned: boolean;
  count: number;
  row: (index: number) => Row | undefined;
  rowKey: (row: Row) => string;
  canSelect: (row: Row) => boolean;
  selected: ReadonlySet<string> | undefined;
  onSelect: (keys: ReadonlySet<string>) => void;
}

/** Selects every loaded row, or none. */
function SelectAll<Row>({ pinned, count, row, rowKey, canSelect, selected, onSelect }: SelectAllProps<Row>) {
  const some = (selected?.size ?? 0) > 0;
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (box.current) box.current.indeterminate = some;
  }, [some]);
  return (
    <div
      role="columnheader"
      className={`${styles.cell} ${pinned ? styles.pinned : ''}`}
      style={pinned ? { left: 0 } : undefined}
    >
      <input
        ref={box}
        type="checkbox"
        aria-label={some ? 'Select none' : 'Select all loaded rows'}
        checked={some}
        disabled={count === 0}
        onChange={() => {
          if (some) return onSelect(new Set());
          const keys = new Set<string>();
          for (let index = 0; index < count; ++index) {
            const item = row(index);
            if (item !== undefined && canSelect(item)) keys.add(rowKey(item));
          }
          onSelect(keys);
        }}
      />
    </div>
  );
}

const narrowMedia = '(max-width: 720px)';

/** Whether the window is as narrow as a phone. */
export function useNarrow(): boolean {
  const [narrow, setNarrow] = useState(() => matchMedia(narrowMedia).matches);
  useEffect(() => {
    const media = matchMedia(narrowMedia);
    const update = () => setNarrow(media.matches);
    media.addEventListener('change', update);
    return () => media.removeEventListener('change', update);
  }, []);
  return narrow;
}
