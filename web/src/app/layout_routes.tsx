// The routes that pages hang below: signed in, of a repository, of a ref in it.
import { createRootRoute, createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { queryClient } from '@/api/query_client';
import { sessionQuery } from '@/api/session';
import { NotFoundPage } from './not_found';
import { repositoryQuery } from './repository_query';
import { RouteError } from './route_error';
import { Root } from './root';

export const rootRoute = createRootRoute({
  component: Root,
  notFoundComponent: () => (
    <main>
      <NotFoundPage />
    </main>
  ),
  errorComponent: (props) => (
    <main>
      <RouteError {...props} />
    </main>
  ),
});

/** Everything but login and setup. Without a session it leads to the login, and from there back. */
export const signedInRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'signed-in',
  beforeLoad: async ({ location }) => {
    const user = await queryClient.ensureQueryData(sessionQuery);
    if (!user) throw redirect({ to: '/login', search: { next: location.href === '/' ? undefined : location.href } });
    return { user };
  },
  component: lazyRouteComponent(() => import('./shell'), 'Shell'),
  errorComponent: (props) => (
    <main>
      <RouteError {...props} />
    </main>
  ),
  notFoundComponent: NotFoundPage,
});

/** /r/REPOSITORY. Pages without a ref are below /r/REPOSITORY/-/, since no ref is called "-". */
export const repositoryRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'r/$repository',
  loader: ({ params }) => queryClient.ensureQueryData(repositoryQuery(params.repository)),
  errorComponent: RouteError,
});

/** /r/REPOSITORY/REF: a branch, tag, @alias, commit, or an expression like main~3. */
export const refRoute = createRoute({ getParentRoute: () => repositoryRoute, path: '$ref' });
