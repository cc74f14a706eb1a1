import { bytes, count, exactBytes } from '@/ui/format';
import { byteDifference, type Totals } from './diff_queries';
import styles from './changes.module.css';

/** "+3 ~2 −1 !1  +1.2 MB": counts by kind, and by how much the size changes. */
export function DiffCounts({ of, size = true }: { of: Totals; size?: boolean }) {
  const parts = [
    { kind: 'added', mark: '+', value: of.added.objects },
    { kind: 'changed', mark: '~', value: of.changed.objects },
    { kind: 'removed', mark: '−', value: of.removed.objects },
    { kind: 'conflict', mark: '!', value: of.conflicts },
  ].filter((part) => part.value > 0);
  const difference = byteDifference(of);
  return (
    <span className={styles.counts}>
      {parts.map((part) => (
        <span key={part.kind} className={styles[part.kind]} title={`${count(part.value)} ${part.kind}`}>
          <span aria-hidden="true">
            {part.mark}
            {count(part.value)}
          </span>
          <span className="visually-hidden">
            {count(part.value)} {part.kind}{' '}
          </span>
        </span>
      ))}
      {size && difference !== 0 && (
        <span className="muted" title={exactBytes(difference)}>
          {difference > 0 ? '+' : '−'}
          {bytes(Math.abs(difference))}
        </span>
      )}
    </span>
  );
}
