import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { signedInRoute } from '@/app/layout_routes';

const usersRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'admin/users',
  component: lazyRouteComponent(() => import('./access_pages'), 'UsersPage'),
});

const groupsRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'admin/groups',
  component: lazyRouteComponent(() => import('./access_pages'), 'GroupsPage'),
});

const policiesRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'admin/policies',
  component: lazyRouteComponent(() => import('./access_pages'), 'PoliciesPage'),
});

export const accessRoutes = [usersRoute, groupsRoute, policiesRoute] as const;
