import { Link, getRouteApi } from '@tanstack/react-router';
import type { ComponentType } from 'react';
import { Cleanup } from './cleanup';
import { Deletion } from './deletion';
import { General } from './general';
import { MetricFiles } from './metric_files';
import { Protection } from './protection';
import { Quotas } from './quotas';
import { Retention } from './retention';
import { type Section, sections } from './sections';
import styles from './settings.module.css';

const route = getRouteApi('/signed-in/r/$repository/-/settings');
const contents: Record<Section, ComponentType<{ repository: string }>> = {
  general: General,
  protection: Protection,
  branches: Cleanup,
  metrics: MetricFiles,
  retention: Retention,
  quotas: Quotas,
  deletion: Deletion,
};

/** All that is set of a repository. */
export function SettingsPage() {
  const { repository } = route.useParams();
  const section = route.useSearch().section ?? 'general';
  const Content = contents[section];
  return (
    <div className="page">
      <h1>Settings</h1>
      <div className={styles.frame}>
        <nav aria-label="Settings" className={styles.sections}>
          <ul>
            {sections.map(({ id, label }) => (
              <li key={id}>
                <Link
                  to="/r/$repository/-/settings"
                  params={{ repository }}
                  search={id === 'general' ? {} : { section: id }}
                  activeOptions={{ exact: true }}
                  className={`${styles.section} ${id === section ? styles.current : ''}`}
                  aria-current={id === section ? 'page' : undefined}
                >
                  {label}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <div className={styles.content}>
          <Content key={repository} repository={repository} />
        </div>
      </div>
    </div>
  );
}
