import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { crumbs, nameOf } from '@/objects/paths';
import { listChildren, type ObjectStats, objectsKey } from '@/objects/object_queries';
import { type Column, DataTable } from '@/ui/data_table';
import { Icon } from '@/ui/icon';
import { usePagedRows } from '@/ui/paged_rows';
import { EmptyState, ErrorPanel, Skeleton } from '@/ui/states';
import { Name, Time } from '@/ui/text';
import { authorOf } from './commit_facts';
import { lastChangeQuery } from './log_queries';
import styles from './history.module.css';

/** Who changed each child of a prefix last. Only visible rows are looked up. */
export function Blame({
  repository,
  at,
  prefix,
  onPrefix,
}: {
  repository: string;
  at: string;
  prefix: string;
  onPrefix: (prefix: string) => void;
}) {
  const rows = usePagedRows<ObjectStats>([...objectsKey(repository, at), 'children', prefix, ''], (after, signal) =>
    listChildren(repository, at, prefix, after, signal),
  );
  const columns: Column<ObjectStats>[] = [
    {
      id: 'name',
      header: 'Name',
      width: 'minmax(120px, 2fr)',
      cell: (row) => (
        <>
          <Icon name={row.path_type === 'common_prefix' ? 'folder' : 'file'} />
          {row.path_type === 'common_prefix' ? (
            <Link to="." search={{ view: 'blame', path: row.path }} className={styles.message}>
              <Name>{nameOf(row.path)}</Name>
            </Link>
          ) : (
            <Link
              to="/r/$repository/$ref/data"
              params={{ repository, ref: at }}
              search={{ path: prefix || undefined, object: row.path }}
              className={styles.message}
            >
              <Name>{nameOf(row.path)}</Name>
            </Link>
          )}
        </>
      ),
    },
    {
      id: 'message',
      header: 'Last commit',
      width: 'minmax(120px, 3fr)',
      cell: (row) => <LastChange repository={repository} at={at} path={row.path} part="message" />,
    },
    {
      id: 'author',
      header: 'Author',
      width: 'minmax(80px, 160px)',
      wideOnly: true,
      cell: (row) => <LastChange repository={repository} at={at} path={row.path} part="author" />,
    },
    {
      id: 'time',
      header: 'Time',
      width: '96px',
      cell: (row) => <LastChange repository={repository} at={at} path={row.path} part="time" />,
    },
  ];
  return (
    <>
      <nav aria-label="Folder" className="toolbar">
        <Link to="." search={{ view: 'blame' }}>
          {repository}
        </Link>
        {crumbs(prefix).map((crumb) => (
          <span key={crumb.prefix} className="toolbar">
            <span aria-hidden="true" className="muted">
              /
            </span>
            <Link to="." search={{ view: 'blame', path: crumb.prefix }}>
              <Name>{crumb.label}</Name>
            </Link>
          </span>
        ))}
      </nav>
      {rows.error && rows.count === 0 ? (
        <ErrorPanel error={rows.error} onRetry={rows.retry} />
      ) : rows.isLoading ? (
        <Skeleton rows={8} />
      ) : (
        <DataTable
          label="Last changes"
          fill
          columns={columns}
          count={rows.count}
          row={rows.row}
          rowKey={(row) => row.path}
          onRange={rows.onRange}
          onOpen={(row) => row.path_type === 'common_prefix' && onPrefix(row.path)}
          empty={<EmptyState icon="folder">There are no objects here.</EmptyState>}
        />
      )}
    </>
  );
}

function LastChange({
  repository,
  at,
  path,
  part,
}: {
  repository: string;
  at: string;
  path: string;
  part: 'message' | 'author' | 'time';
}) {
  const found = useQuery(lastChangeQuery(repository, at, path));
  if (found.error)
    return part === 'message' ? (
      <span className="muted" title={found.error.message}>
        unknown
      </span>
    ) : null;
  if (found.data === undefined) return null;
  if (found.data === null) return part === 'message' ? <span className="muted">uncommitted, or by a merge</span> : null;
  if (part === 'author') return <Name>{authorOf(found.data)}</Name>;
  if (part === 'time') return <Time at={found.data.creation_date} />;
  return (
    <Link
      to="/r/$repository/-/commits/$commit"
      params={{ repository, commit: found.data.id }}
      search={{}}
      className={styles.message}
      title={found.data.message}
    >
      {found.data.message || 'no message'}
    </Link>
  );
}
