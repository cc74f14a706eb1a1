import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { refRoute } from '@/app/layout_routes';
import { integer, oneOf, text, texts } from '@/app/search_params';

export const objectSorts = ['path', 'size', 'modified'] as const;

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
  ): { path?: string | undefined; object?: string | undefined; from?: string | undefined } => ({
    /** The prefix that is listed, with its final slash. */
    path: text(raw.path),
    /** The object whose details are open. */
    object: text(raw.object),
    /** Where the listing begins. */
    from: text(raw.from),
  }),
  component: lazyRouteComponent(() => import('./data_page'), 'DataPage'),
});

export interface ObjectSearch {
  glob?: string | undefined;
  prefix?: string | undefined;
  min?: number | undefined;
  max?: number | undefined;
  after?: string | undefined;
  before?: string | undefined;
  type?: string | undefined;
  metadata?: string[] | undefined;
  where?: string | undefined;
  sort?: (typeof objectSorts)[number] | undefined;
  descending?: string | undefined;
  object?: string | undefined;
}

const searchRoute = createRoute({
  getParentRoute: () => refRoute,
  path: 'search',
  validateSearch: (raw: Record<string, unknown>): ObjectSearch => ({
    glob: text(raw.glob),
    prefix: text(raw.prefix),
    min: integer(raw.min),
    max: integer(raw.max),
    after: text(raw.after),
    before: text(raw.before),
    type: text(raw.type),
    metadata: texts(raw.metadata),
    where: text(raw.where),
    sort: oneOf(raw.sort, objectSorts),
    descending: text(raw.descending),
    object: text(raw.object),
  }),
  component: lazyRouteComponent(() => import('./search_page'), 'SearchPage'),
});

export const objectsRoutes = [refIndexRoute, dataRoute, searchRoute] as const;
