import { type ReactNode, useState } from 'react';
import { Button } from '@/ui/button';
import type { Shown } from './object_bytes';
import { ProfilePanel } from './profile_panel';
import type { SqlSource } from './sql_engine';
import { SqlPanel } from './sql_panel';
import styles from './preview.module.css';

/** The bar above a table, with what DuckDB does with it: queries, and a profile of its columns. */
export function TableTools({
  shown,
  kind,
  children,
  after,
}: {
  shown: Shown;
  kind: SqlSource['kind'];
  children?: ReactNode;
  after?: ReactNode;
}) {
  const [open, setOpen] = useState<'sql' | 'profile' | null>(null);
  const toggle = (panel: 'sql' | 'profile') => () => setOpen(open === panel ? null : panel);
  return (
    <>
      <div className={styles.bar}>
        {children}
        <Button aria-expanded={open === 'sql'} onPress={toggle('sql')}>
          SQL
        </Button>
        <Button aria-expanded={open === 'profile'} onPress={toggle('profile')}>
          Profile
        </Button>
        {after}
      </div>
      {open === 'sql' && <SqlPanel shown={shown} kind={kind} />}
      {open === 'profile' && <ProfilePanel shown={shown} kind={kind} />}
    </>
  );
}
