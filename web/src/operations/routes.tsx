import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { repositoryRoute, signedInRoute } from '@/app/layout_routes';

const operationsRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'admin/operations',
  component: lazyRouteComponent(() => import('./operations_pages'), 'OperationsPage'),
});

const storageRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'admin/storage',
  component: lazyRouteComponent(() => import('./operations_pages'), 'StoragePage'),
});

const settingsRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/settings',
  component: lazyRouteComponent(() => import('./operations_pages'), 'SettingsPage'),
});

/** Of the server. */
export const operationsRoutes = [operationsRoute, storageRoute] as const;
/** Below /r/REPOSITORY/. */
export const settingsRoutes = [settingsRoute] as const;
