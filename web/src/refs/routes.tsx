import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { repositoryRoute } from '@/app/layout_routes';
import { integer, oneOf, text } from '@/app/search_params';
import { type RefKind, staleDaysMax } from './ref_queries';

const branchesRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/branches',
  validateSearch: (
    raw: Record<string, unknown>,
  ): { kind?: RefKind | 'stale' | undefined; q?: string | undefined; days?: number | undefined } => ({
    kind: oneOf(raw.kind, ['branch', 'tag', 'alias', 'stale']),
    q: text(raw.q),
    days: integer(raw.days, 0, staleDaysMax),
  }),
  component: lazyRouteComponent(() => import('./refs_page'), 'RefsPage'),
});

export const refsRoutes = [branchesRoute] as const;
