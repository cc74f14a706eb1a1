import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { rootRoute } from '@/app/layout_routes';
import { text } from '@/app/search_params';
import { queryClient } from '@/api/query_client';
import { sessionQuery, setupStateQuery } from '@/api/session';
import { localAddress } from './local_address';

const loginRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'login',
  validateSearch: (raw: Record<string, unknown>): { next?: string | undefined } => ({ next: text(raw.next) }),
  beforeLoad: async ({ search }) => {
    const state = await queryClient.ensureQueryData(setupStateQuery);
    if (state.state === 'not_initialized') throw redirect({ to: '/setup' });
    if (await queryClient.ensureQueryData(sessionQuery)) throw redirect({ href: localAddress(search.next) });
  },
  component: lazyRouteComponent(() => import('./login_page'), 'LoginPage'),
});

const setupRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'setup',
  beforeLoad: async () => {
    const state = await queryClient.ensureQueryData(setupStateQuery);
    if (state.state !== 'not_initialized') throw redirect({ to: '/login' });
  },
  component: lazyRouteComponent(() => import('./setup_page'), 'SetupPage'),
});

const invitationRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'invitation',
  component: lazyRouteComponent(() => import('./invitation_page'), 'InvitationPage'),
});

/** lakeFS's tools link to /auth/login. */
const lakefsLoginRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: 'auth/$',
  beforeLoad: () => {
    throw redirect({ to: '/login' });
  },
});

export const loginRoutes = [loginRoute, setupRoute, invitationRoute, lakefsLoginRoute] as const;
