import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useCurrentInView } from '@/ui/current_in_view';
import styles from './operations.module.css';

const pages = [
  { to: '/admin/server', label: 'Server' },
  { to: '/admin/storage', label: 'Storage and collection' },
  { to: '/admin/jobs', label: 'Jobs' },
  { to: '/admin/operations', label: 'Background requests' },
  { to: '/admin/configuration', label: 'Configuration' },
  { to: '/admin/deleted', label: 'Deleted repositories' },
] as const;

/** Head and tabs of the pages about the running server. */
export function OperationsFrame({
  title,
  actions,
  children,
  scrolls,
}: {
  title: string;
  actions?: ReactNode;
  children: ReactNode;
  scrolls?: boolean;
}) {
  const tabs = useCurrentInView<HTMLElement>(title);
  return (
    <div className={scrolls ? 'page' : 'page-full'}>
      <div className="page-head">
        <h1 className="grow">{title}</h1>
        {actions}
      </div>
      <nav ref={tabs} aria-label="Operations" className={styles.tabs}>
        {pages.map((page) => (
          <Link
            key={page.to}
            to={page.to}
            search={{}}
            className={styles.tab}
            activeProps={{ className: styles.tabCurrent!, 'aria-current': 'page' }}
          >
            {page.label}
          </Link>
        ))}
      </nav>
      {children}
    </div>
  );
}
