import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { signedInRoute } from '@/app/layout_routes';
import { text } from '@/app/search_params';

type Raw = Record<string, unknown>;

const usersRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'admin/users',
  validateSearch: (raw: Raw): { q?: string | undefined; user?: string | undefined } => ({
    q: text(raw.q),
    user: text(raw.user),
  }),
  component: lazyRouteComponent(() => import('./users_page'), 'UsersPage'),
});

const groupsRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'admin/groups',
  validateSearch: (raw: Raw): { group?: string | undefined } => ({ group: text(raw.group) }),
  component: lazyRouteComponent(() => import('./groups_page'), 'GroupsPage'),
});

const policiesRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'admin/policies',
  validateSearch: (raw: Raw): { policy?: string | undefined } => ({ policy: text(raw.policy) }),
  component: lazyRouteComponent(() => import('./policies_page'), 'PoliciesPage'),
});

const permissionsRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'admin/permissions',
  validateSearch: (
    raw: Raw,
  ): { user?: string | undefined; action?: string | undefined; resource?: string | undefined } => ({
    user: text(raw.user),
    action: text(raw.action),
    resource: text(raw.resource),
  }),
  component: lazyRouteComponent(() => import('./permissions_page'), 'PermissionsPage'),
});

export const accessRoutes = [usersRoute, groupsRoute, policiesRoute, permissionsRoute] as const;
