import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { repositoryRoute } from '@/app/layout_routes';

const promotionsRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/promotions',
  component: lazyRouteComponent(() => import('./promotion_pages'), 'PromotionsPage'),
});

export const promotionRoutes = [promotionsRoute] as const;
