// Every page of the interface; each feature lists its own in its routes.tsx.
import { accessRoutes } from '@/access/routes';
import { automationRoutes } from '@/automation/routes';
import { changesOfRefRoutes, changesRoutes } from '@/changes/routes';
import { connectRoutes } from '@/connect/routes';
import { experimentsRoutes } from '@/experiments/routes';
import { historyOfRefRoutes, historyRoutes } from '@/history/routes';
import { loginRoutes } from '@/login/routes';
import { objectsRoutes } from '@/objects/routes';
import { operationsRoutes } from '@/operations/routes';
import { promotionRoutes } from '@/promotion/routes';
import { refsRoutes } from '@/refs/routes';
import { lakefsRoutes } from '@/repositories/lakefs_routes';
import { repositoriesRoutes, repositoryIndexRoutes } from '@/repositories/routes';
import { requestsRoutes } from '@/requests/routes';
import { settingsRoutes } from '@/settings/routes';
import { refRoute, repositoryRoute, rootRoute, signedInRoute } from './layout_routes';

export const routeTree = rootRoute.addChildren([
  ...loginRoutes,
  signedInRoute.addChildren([
    ...repositoriesRoutes,
    ...lakefsRoutes,
    ...accessRoutes,
    ...connectRoutes,
    ...operationsRoutes,
    repositoryRoute.addChildren([
      ...repositoryIndexRoutes,
      ...refsRoutes,
      ...requestsRoutes,
      ...experimentsRoutes,
      ...promotionRoutes,
      ...automationRoutes,
      ...changesRoutes,
      ...historyRoutes,
      ...settingsRoutes,
      refRoute.addChildren([...objectsRoutes, ...changesOfRefRoutes, ...historyOfRefRoutes]),
    ]),
  ]),
]);
