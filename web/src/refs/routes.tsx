import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { repositoryRoute } from '@/app/layout_routes';
import { oneOf, text } from '@/app/search_params';
import type { RefKind } from './ref_queries';

const branchesRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/branches',
  validateSearch: (raw: Record<string, unknown>): { kind?: RefKind | undefined; q?: string | undefined } => ({ kind: oneOf(raw.kind, ['branch', 'tag', 'alias']), q: text(raw.q) }),
  component: lazyRouteComponent(() => import('./refs_page'), 'RefsPage'),
});

export const refsRoutes = [branchesRoute] as const;
