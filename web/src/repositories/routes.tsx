import { createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { queryClient } from '@/api/query_client';
import { repositoryRoute, signedInRoute } from '@/app/layout_routes';
import { repositoryQuery } from '@/app/repository_query';
import { flag, text } from '@/app/search_params';

const repositoriesRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/',
  validateSearch: (raw: Record<string, unknown>): { q?: string | undefined; create?: true | undefined } => ({
    q: text(raw.q),
    create: flag(raw.create),
  }),
  component: lazyRouteComponent(() => import('./repositories_page'), 'RepositoriesPage'),
});

/** /r/REPOSITORY leads to its default branch. */
const repositoryIndexRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '/',
  beforeLoad: async ({ params }) => {
    const repository = await queryClient.ensureQueryData(repositoryQuery(params.repository));
    throw redirect({
      to: '/r/$repository/$ref/data',
      params: { repository: repository.id, ref: repository.default_branch },
      search: {},
    });
  },
});

export const repositoriesRoutes = [repositoriesRoute] as const;
export const repositoryIndexRoutes = [repositoryIndexRoute] as const;
