import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { repositoryRoute } from '@/app/layout_routes';
import { flag, oneOf, text } from '@/app/search_params';

type Raw = Record<string, unknown>;
export const requestStates = ['open', 'closed', 'all'] as const;
const requestTabs = ['conversation', 'changes', 'commits'] as const;

const requestsRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/requests',
  validateSearch: (
    raw: Raw,
  ): {
    status?: (typeof requestStates)[number] | undefined;
    create?: true | undefined;
    source?: string | undefined;
    destination?: string | undefined;
  } => ({
    status: oneOf(raw.status, requestStates),
    create: flag(raw.create),
    source: text(raw.source),
    destination: text(raw.destination),
  }),
  component: lazyRouteComponent(() => import('./requests_page'), 'RequestsPage'),
});

const requestRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/requests/$request',
  validateSearch: (
    raw: Raw,
  ): { tab?: (typeof requestTabs)[number] | undefined; prefix?: string | undefined; object?: string | undefined } => ({
    tab: oneOf(raw.tab, requestTabs),
    prefix: text(raw.prefix),
    object: text(raw.object),
  }),
  component: lazyRouteComponent(() => import('./request_page'), 'RequestPage'),
});

export const requestsRoutes = [requestsRoute, requestRoute] as const;
