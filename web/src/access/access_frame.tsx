import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import styles from './access.module.css';

const pages = [
  { to: '/admin/users', label: 'Users' },
  { to: '/admin/groups', label: 'Groups' },
  { to: '/admin/policies', label: 'Policies' },
  { to: '/admin/permissions', label: 'Permission check' },
] as const;

/** Head and tabs of the pages about access. */
export function AccessFrame({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <div className="page-full">
      <div className="page-head">
        <h1 className="grow">{title}</h1>
        {actions}
      </div>
      <nav aria-label="Access" className={styles.tabs}>
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
