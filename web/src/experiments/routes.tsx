import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { repositoryRoute } from '@/app/layout_routes';
import { type RunsSearch, runsSearchOf } from './runs_search';

const runsRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/runs',
  validateSearch: runsSearchOf,
  // The questions that the table waits for are asked while the code of the page arrives.
  loader: ({ params, location }) => {
    void import('./run_queries').then(({ prefetchRuns }) =>
      prefetchRuns(params.repository, location.search as RunsSearch),
    );
  },
  component: lazyRouteComponent(() => import('./runs_page'), 'RunsPage'),
});

const runRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/runs/$run',
  component: lazyRouteComponent(() => import('./run_page'), 'RunPage'),
});

export const experimentsRoutes = [runsRoute, runRoute] as const;
