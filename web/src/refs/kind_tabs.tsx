import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { count } from '@/ui/format';
import { type RefKind, refsQuery } from './ref_queries';
import styles from './refs.module.css';

export const kinds: { kind: RefKind; label: string; one: string }[] = [
  { kind: 'branch', label: 'Branches', one: 'branch' },
  { kind: 'tag', label: 'Tags', one: 'tag' },
  { kind: 'alias', label: 'Aliases', one: 'alias' },
];

/** The tabs of the page: kinds of refs, and stale branches. */
export function KindTabs({
  repository,
  kind,
  q,
  onClick,
}: {
  repository: string;
  kind: RefKind | 'stale';
  q: string | undefined;
  onClick?: () => void;
}) {
  const refs = useQuery(refsQuery(repository));
  const tab = (id: RefKind | 'stale', label: string, shown: number | undefined) => (
    <Link
      key={id}
      to="/r/$repository/-/branches"
      params={{ repository }}
      search={{ kind: id === 'branch' ? undefined : id, q }}
      className={`${styles.tab} ${id === kind ? styles.tabCurrent : ''}`}
      aria-current={id === kind ? 'page' : undefined}
      onClick={onClick}
    >
      {label} {shown !== undefined && <span className="muted">{count(shown)}</span>}
    </Link>
  );
  return (
    <nav aria-label="Kind of ref" className={styles.tabs}>
      {kinds.map((item) => tab(item.kind, item.label, refs.data?.filter((ref) => ref.kind === item.kind).length))}
      {tab('stale', 'Stale', undefined)}
    </nav>
  );
}
