import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { refRoute, repositoryRoute } from '@/app/layout_routes';
import { oneOf, text } from '@/app/search_params';

type Raw = Record<string, unknown>;
interface PlaceSearch {
  prefix?: string | undefined;
  object?: string | undefined;
}

const changesRoute = createRoute({
  getParentRoute: () => refRoute,
  path: 'changes',
  validateSearch: (raw: Raw): PlaceSearch => ({ prefix: text(raw.prefix), object: text(raw.object) }),
  component: lazyRouteComponent(() => import('./changes_page'), 'ChangesPage'),
});

const compareRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/compare/$left/$right',
  validateSearch: (raw: Raw): PlaceSearch & { type?: 'two_dot' | 'three_dot' | undefined } => ({
    prefix: text(raw.prefix),
    object: text(raw.object),
    type: oneOf(raw.type, ['two_dot', 'three_dot']),
  }),
  component: lazyRouteComponent(() => import('./compare_page'), 'ComparePage'),
});

/** Below /r/REPOSITORY/REF/. */
export const changesOfRefRoutes = [changesRoute] as const;
/** Below /r/REPOSITORY/. */
export const changesRoutes = [compareRoute] as const;
