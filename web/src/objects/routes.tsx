import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { refRoute } from '@/app/layout_routes';
import { flag, oneOf, text } from '@/app/search_params';
import { objectSearchOf, objectSorts } from './object_search';

/** /r/REPOSITORY/REF leads to the objects of the ref. */
const refIndexRoute = createRoute({
  getParentRoute: () => refRoute,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/r/$repository/$ref/data', params, search: {} });
  },
});

const dataRoute = createRoute({
  getParentRoute: () => refRoute,
  path: 'data',
  validateSearch: (
    raw: Record<string, unknown>,
  ): {
    path?: string | undefined;
    object?: string | undefined;
    from?: string | undefined;
    into?: string | undefined;
    full?: true | undefined;
    sort?: (typeof objectSorts)[number] | undefined;
    descending?: true | undefined;
  } => ({
    /** The prefix that is listed, with its final slash. */
    path: text(raw.path),
    /** The object whose details are open. */
    object: text(raw.object),
    /** Where the listing begins. */
    from: text(raw.from),
    /** The protected branch that the changes are for. */
    into: text(raw.into),
    /** The details without the list beside them. */
    full: flag(raw.full),
    /** Another order than that of names. */
    sort: oneOf(raw.sort, objectSorts),
    descending: flag(raw.descending),
  }),
  component: lazyRouteComponent(() => import('./data_page'), 'DataPage'),
});

const searchRoute = createRoute({
  getParentRoute: () => refRoute,
  path: 'search',
  validateSearch: objectSearchOf,
  component: lazyRouteComponent(() => import('./search_page'), 'SearchPage'),
});

export const objectsRoutes = [refIndexRoute, dataRoute, searchRoute] as const;
