import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { signedInRoute } from '@/app/layout_routes';
import { text } from '@/app/search_params';

type Raw = Record<string, unknown>;

const connectRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'connect',
  validateSearch: (
    raw: Raw,
  ): { client?: string | undefined; repository?: string | undefined; branch?: string | undefined } => ({
    client: text(raw.client),
    repository: text(raw.repository),
    branch: text(raw.branch),
  }),
  component: lazyRouteComponent(() => import('./connect_page'), 'ConnectPage'),
});

export const connectRoutes = [connectRoute] as const;
