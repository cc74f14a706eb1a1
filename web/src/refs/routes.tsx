import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { repositoryRoute } from '@/app/layout_routes';

const branchesRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/branches',
  component: lazyRouteComponent(() => import('./refs_pages'), 'BranchesPage'),
});

export const refsRoutes = [branchesRoute] as const;
