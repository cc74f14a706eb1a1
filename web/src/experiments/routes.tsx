import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { repositoryRoute } from '@/app/layout_routes';

const runsRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/runs',
  component: lazyRouteComponent(() => import('./experiments_pages'), 'RunsPage'),
});

export const experimentsRoutes = [runsRoute] as const;
