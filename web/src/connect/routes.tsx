import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { signedInRoute } from '@/app/layout_routes';

const connectRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'connect',
  component: lazyRouteComponent(() => import('./connect_pages'), 'ConnectPage'),
});

export const connectRoutes = [connectRoute] as const;
