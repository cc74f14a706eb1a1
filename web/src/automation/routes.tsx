import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { repositoryRoute } from '@/app/layout_routes';

const automationRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/automation',
  component: lazyRouteComponent(() => import('./automation_pages'), 'AutomationPage'),
});

export const automationRoutes = [automationRoute] as const;
