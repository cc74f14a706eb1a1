import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { useShortcuts } from '@/app/shortcuts';
import { Button, IconButton } from '@/ui/button';
import { type Column, DataTable } from '@/ui/data_table';
import { counted } from '@/ui/format';
import { Icon } from '@/ui/icon';
import { usePagedRows } from '@/ui/paged_rows';
import { ErrorPanel, Skeleton } from '@/ui/states';
import { Badge, Bytes, Name } from '@/ui/text';
import { ChangeTree } from './change_tree';
import { type Change, diffKey, kindLabels, listChanges, objectCount, type Sides, summaryQuery } from './diff_queries';
import { ObjectDiff } from './object_diff';
import { isSeen, toggleSeen } from './seen';
import styles from './changes.module.css';

export interface Place {
  prefix?: string | undefined;
  object?: string | undefined;
}

interface ComparisonProps {
  sides: Sides;
  place: Place;
  onPlace: (place: Place) => void;
  /** Instead of everything when nothing differs. */
  empty: ReactNode;
  /** Of one object, beside its name. */
  objectActions?: (path: string) => ReactNode;
  /** Of the rows that are shown: those below a prefix, or all. */
  prefixActions?: (prefix: string) => ReactNode;
}

/**
 * The differences between two sides: on the left prefixes with counts and bytes, on the right the rows below one, or how one
 * object differs. j and k go through the objects, v marks one as seen.
 */
export function Comparison({ sides, place, onPlace, empty, objectActions, prefixActions }: ComparisonProps) {
  const prefix = place.prefix ?? '';
  const summary = useQuery(summaryQuery(sides, ''));
  const rows = usePagedRows<Change>([...diffKey(sides), 'rows', prefix], (after, signal) =>
    listChanges(sides, prefix, after, signal),
  );
  const [, redraw] = useState(0);
  const [at, setAt] = useState(-1);

  const open = (index: number) => {
    const change = rows.row(index);
    if (!change) return;
    setAt(index);
    rows.onRange(Math.max(0, index - 20), index + 20);
    onPlace({ ...place, object: change.path });
  };
  // Of the object in the address, if its page is loaded.
  const index = useMemo(() => {
    if (place.object === undefined) return -1;
    if (rows.row(at)?.path === place.object) return at;
    for (let row = 0; row < rows.loaded; ++row) if (rows.row(row)?.path === place.object) return row;
    return -1;
  }, [place.object, at, rows]);
  const mark = () => {
    if (place.object === undefined) return;
    toggleSeen(sides, place.object);
    redraw((n) => n + 1);
  };
  useShortcuts([
    { keys: 'j', does: 'next object', run: () => open(index + 1) },
    { keys: 'k', does: 'previous object', run: () => open(Math.max(0, index - 1)) },
    { keys: 'v', does: 'mark as seen', run: mark },
  ]);

  if (summary.error) return <ErrorPanel error={summary.error} onRetry={() => void summary.refetch()} />;
  if (!summary.data) return <Skeleton rows={8} />;
  if (objectCount(summary.data) === 0) return <>{empty}</>;

  const columns: Column<Change>[] = [
    {
      id: 'kind',
      header: 'Change',
      width: '112px',
      cell: (row) => (
        <Badge kind={kindLabels[row.type].badge}>
          <span aria-hidden="true">{kindLabels[row.type].mark}&nbsp;</span>
          {kindLabels[row.type].word}
        </Badge>
      ),
    },
    {
      id: 'path',
      header: 'Path',
      width: 'minmax(160px, 1fr)',
      cell: (row) => (
        <>
          <button type="button" className={styles.pathButton} onClick={() => onPlace({ ...place, object: row.path })}>
            <Name>{row.path.slice(prefix.length)}</Name>
          </button>
          {isSeen(sides, row.path) && (
            <span className={styles.seen} title="Seen">
              <Icon name="check" />
              <span className="visually-hidden">seen</span>
            </span>
          )}
        </>
      ),
    },
    {
      id: 'type',
      header: 'Type',
      width: 'minmax(80px, 160px)',
      wideOnly: true,
      cell: (row) => (
        <span className="muted" style={{ minWidth: 0 }}>
          <Name>{row.right?.content_type ?? ''}</Name>
        </span>
      ),
    },
    { id: 'size', header: 'Size', width: '88px', numeric: true, cell: (row) => <Bytes of={row.size_bytes} /> },
  ];
  return (
    <div className={styles.comparison}>
      <div className={styles.side}>
        <ChangeTree
          sides={sides}
          selected={prefix}
          onSelect={(next) => {
            setAt(-1);
            onPlace({ prefix: next || undefined });
          }}
        />
      </div>
      <div className={styles.main}>
        {place.object === undefined ? (
          <>
            <div className={styles.objectHead}>
              <span className={styles.objectName}>
                <Name>{prefix || 'Everything'}</Name>
              </span>
              {prefixActions?.(prefix)}
            </div>
            {rows.error && rows.count === 0 ? (
              <ErrorPanel error={rows.error} onRetry={rows.retry} />
            ) : rows.isLoading ? (
              <Skeleton rows={8} />
            ) : (
              <DataTable
                label="Changes"
                fill
                columns={columns}
                count={rows.count}
                row={rows.row}
                rowKey={(row) => row.path}
                onRange={rows.onRange}
                onOpen={(row) => onPlace({ ...place, object: row.path })}
                empty={<p style={{ padding: 16 }}>Nothing below this folder differs.</p>}
              />
            )}
          </>
        ) : (
          <>
            <div className={styles.objectHead}>
              <Button icon="arrowLeft" onPress={() => onPlace({ prefix: place.prefix })}>
                All changes
              </Button>
              <span className={styles.objectName}>
                <Name>{place.object}</Name>
              </span>
              {index >= 0 && (
                <span className="muted">
                  {index + 1} of{' '}
                  {rows.ended ? counted(rows.loaded, 'object') : `more than ${counted(rows.loaded, 'object')}`}
                </span>
              )}
              <IconButton
                icon="arrowLeft"
                kind="plain"
                label="Previous object (k)"
                isDisabled={index <= 0}
                onPress={() => open(index - 1)}
              />
              <IconButton
                icon="arrowRight"
                kind="plain"
                label="Next object (j)"
                isDisabled={rows.ended && index >= rows.loaded - 1}
                onPress={() => open(index + 1)}
              />
              <Button icon="check" onPress={mark}>
                {isSeen(sides, place.object) ? 'Seen' : 'Mark as seen'}
              </Button>
              {objectActions?.(place.object)}
            </div>
            <div className={styles.scroll} tabIndex={0} role="region" aria-label={`Difference of ${place.object}`}>
              <ObjectDiff key={place.object} sides={sides} path={place.object} />
            </div>
          </>
        )}
      </div>
    </div>
  );
}
