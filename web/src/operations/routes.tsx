import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { signedInRoute } from '@/app/layout_routes';
import { flag, text } from '@/app/search_params';

const operationsRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'admin/operations',
  validateSearch: (raw: Record<string, unknown>): { operation?: string | undefined } => ({
    operation: text(raw.operation),
  }),
  component: lazyRouteComponent(() => import('./operations_page'), 'OperationsPage'),
});

const jobsRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'admin/jobs',
  validateSearch: (raw: Record<string, unknown>): { everyone?: true | undefined } => ({ everyone: flag(raw.everyone) }),
  component: lazyRouteComponent(() => import('./jobs_page'), 'JobsPage'),
});

const serverRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'admin/server',
  component: lazyRouteComponent(() => import('./server_page'), 'ServerPage'),
});

const configurationRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'admin/configuration',
  validateSearch: (raw: Record<string, unknown>): { q?: string | undefined; changed?: true | undefined } => ({
    q: text(raw.q),
    changed: flag(raw.changed),
  }),
  component: lazyRouteComponent(() => import('./configuration_page'), 'ConfigurationPage'),
});

const storageRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'admin/storage',
  validateSearch: (raw: Record<string, unknown>): { repository?: string | undefined } => ({
    repository: text(raw.repository),
  }),
  component: lazyRouteComponent(() => import('./storage_page'), 'StoragePage'),
});

const deletedRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'admin/deleted',
  component: lazyRouteComponent(() => import('./deleted_page'), 'DeletedPage'),
});

/** Of the server. */
export const operationsRoutes = [
  operationsRoute,
  jobsRoute,
  serverRoute,
  configurationRoute,
  storageRoute,
  deletedRoute,
] as const;
