import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '@/ui/button';
import { counted } from '@/ui/format';
import { Icon } from '@/ui/icon';
import { nameOf } from '@/objects/paths';
import { ErrorPanel, Skeleton } from '@/ui/states';
import { Name } from '@/ui/text';
import { DiffCounts } from './diff_counts';
import { type Sides, summaryQuery } from './diff_queries';
import styles from './changes.module.css';

const shownFirst = 200;

interface TreeProps {
  sides: Sides;
  /** The prefix whose rows are shown. */
  selected: string;
  onSelect: (prefix: string) => void;
}

/** Prefixes with changes below, with counts and bytes; each level is one answer, whatever the number of changes. */
export function ChangeTree(props: TreeProps) {
  const summary = useQuery(summaryQuery(props.sides, ''));
  return (
    <nav aria-label="Changed folders" className={styles.tree}>
      <ul>
        <li>
          <div className={`${styles.node} ${props.selected === '' ? styles.nodeSelected : ''}`}>
            <span className={styles.expander} />
            <button
              type="button"
              className={styles.nodeName}
              aria-current={props.selected === '' ? 'true' : undefined}
              onClick={() => props.onSelect('')}
            >
              <span className="grow">Everything</span>
              {summary.data && <DiffCounts of={summary.data} />}
            </button>
          </div>
        </li>
      </ul>
      <Level {...props} prefix="" depth={0} />
    </nav>
  );
}

function Level({ prefix, depth, ...props }: TreeProps & { prefix: string; depth: number }) {
  const { sides, selected, onSelect } = props;
  const summary = useQuery(summaryQuery(sides, prefix));
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set());
  const [shown, setShown] = useState(shownFirst);
  if (summary.error) return <ErrorPanel error={summary.error} onRetry={() => void summary.refetch()} />;
  if (!summary.data) return <Skeleton rows={2} />;
  // Keys right below the prefix have no folder of their own; the rows show them.
  const below = summary.data.prefixes.filter((item) => item.path !== prefix);
  const isOpen = (path: string) => open.has(path) || (selected !== path && selected.startsWith(path));
  return (
    <ul>
      {below.slice(0, shown).map((item) => (
        <li key={item.path}>
          <div
            className={`${styles.node} ${selected === item.path ? styles.nodeSelected : ''}`}
            style={{ paddingLeft: depth * 16 }}
          >
            <button
              type="button"
              className={styles.expander}
              aria-expanded={isOpen(item.path)}
              aria-label={`Folders in ${item.path}`}
              onClick={() =>
                setOpen((before) => {
                  const next = new Set(before);
                  if (!next.delete(item.path)) next.add(item.path);
                  return next;
                })
              }
            >
              <span className={isOpen(item.path) ? styles.turned : undefined}>
                <Icon name="arrowRight" size={12} />
              </span>
            </button>
            <button
              type="button"
              className={styles.nodeName}
              aria-current={selected === item.path ? 'true' : undefined}
              onClick={() => onSelect(item.path)}
            >
              <span className={styles.nodeLabel}>
                <Name>{nameOf(item.path)}</Name>
              </span>
              <DiffCounts of={item} />
            </button>
          </div>
          {isOpen(item.path) && <Level {...props} prefix={item.path} depth={depth + 1} />}
        </li>
      ))}
      {below.length > shown && (
        <li style={{ paddingLeft: depth * 16 + 24 }}>
          <Button kind="quiet" onPress={() => setShown(shown + 1000)}>
            {counted(below.length - shown, 'more folder')}
          </Button>
        </li>
      )}
    </ul>
  );
}
