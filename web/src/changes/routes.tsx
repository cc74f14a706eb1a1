import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { refRoute, repositoryRoute } from '@/app/layout_routes';

const changesRoute = createRoute({
  getParentRoute: () => refRoute,
  path: 'changes',
  component: lazyRouteComponent(() => import('./changes_pages'), 'ChangesPage'),
});

const compareRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/compare/$left/$right',
  component: lazyRouteComponent(() => import('./changes_pages'), 'ComparePage'),
});

/** Below /r/REPOSITORY/REF/. */
export const changesOfRefRoutes = [changesRoute] as const;
/** Below /r/REPOSITORY/. */
export const changesRoutes = [compareRoute] as const;
