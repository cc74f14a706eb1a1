// Addresses of lakeFS's own page, to which its tools link.
import { createRoute, redirect } from '@tanstack/react-router';
import { queryClient } from '@/api/query_client';
import { signedInRoute } from '@/app/layout_routes';
import { repositoryQuery } from '@/app/repository_query';
import { text } from '@/app/search_params';

const listRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'repositories',
  beforeLoad: () => {
    throw redirect({ to: '/', search: {} });
  },
});

const pageRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: 'repositories/$repository/$',
  validateSearch: (raw: Record<string, unknown>) => ({
    ref: text(raw.ref),
    path: text(raw.path),
    compare: text(raw.compare),
  }),
  beforeLoad: async ({ params, search }) => {
    const { repository } = params;
    const [page, item] = (params._splat ?? '').split('/');
    const ref = search.ref ?? (await queryClient.ensureQueryData(repositoryQuery(repository))).default_branch;
    switch (page) {
      case 'commits':
        throw item
          ? redirect({ to: '/r/$repository/-/commits/$commit', params: { repository, commit: item } })
          : redirect({ to: '/r/$repository/$ref/history', params: { repository, ref } });
      case 'changes':
        throw redirect({ to: '/r/$repository/$ref/changes', params: { repository, ref } });
      case 'compare':
        throw redirect({
          to: '/r/$repository/-/compare/$left/$right',
          params: { repository, left: ref, right: search.compare ?? ref },
        });
      case 'branches':
      case 'tags':
        throw redirect({ to: '/r/$repository/-/branches', params: { repository } });
      case 'pulls':
        throw item
          ? redirect({ to: '/r/$repository/-/requests/$request', params: { repository, request: item } })
          : redirect({ to: '/r/$repository/-/requests', params: { repository } });
      case 'actions':
        throw redirect({ to: '/r/$repository/-/automation', params: { repository } });
      case 'settings':
        throw redirect({ to: '/r/$repository/-/settings', params: { repository } });
      default:
        throw redirect({
          to: '/r/$repository/$ref/data',
          params: { repository, ref },
          search: search.path ? { path: search.path } : {},
        });
    }
  },
});

export const lakefsRoutes = [listRoute, pageRoute] as const;
