import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { repositoryRoute } from '@/app/layout_routes';

const requestsRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/requests',
  component: lazyRouteComponent(() => import('./requests_pages'), 'RequestsPage'),
});

const requestRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/requests/$request',
  component: lazyRouteComponent(() => import('./requests_pages'), 'RequestPage'),
});

export const requestsRoutes = [requestsRoute, requestRoute] as const;
