import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { refRoute, repositoryRoute } from '@/app/layout_routes';

const historyRoute = createRoute({
  getParentRoute: () => refRoute,
  path: 'history',
  component: lazyRouteComponent(() => import('./history_pages'), 'HistoryPage'),
});

const commitRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/commits/$commit',
  component: lazyRouteComponent(() => import('./history_pages'), 'CommitPage'),
});

/** Below /r/REPOSITORY/REF/. */
export const historyOfRefRoutes = [historyRoute] as const;
/** Below /r/REPOSITORY/. */
export const historyRoutes = [commitRoute] as const;
