import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { repositoryRoute } from '@/app/layout_routes';
import { flag, integer, oneOf, text } from '@/app/search_params';

export const gateViews = ['candidates', 'edit', 'versions'] as const;

const promotionsRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/promotions',
  validateSearch: (raw: Record<string, unknown>): { open?: true | undefined } => ({ open: flag(raw.open) }),
  component: lazyRouteComponent(() => import('./promotions_page'), 'PromotionsPage'),
});

const promotionRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/promotions/$promotion',
  validateSearch: (raw: Record<string, unknown>): { candidate?: string | undefined } => ({
    candidate: text(raw.candidate),
  }),
  component: lazyRouteComponent(() => import('./promotion_page'), 'PromotionPage'),
});

/** The policy "-new" is the one that is being written; no policy's name begins with a hyphen. */
const gateRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/gates/$policy',
  validateSearch: (
    raw: Record<string, unknown>,
  ): {
    view?: (typeof gateViews)[number] | undefined;
    candidates?: string | undefined;
    champion?: string | undefined;
    version?: number | undefined;
  } => ({
    view: oneOf(raw.view, gateViews),
    candidates: text(raw.candidates),
    champion: text(raw.champion),
    version: integer(raw.version, 1),
  }),
  component: lazyRouteComponent(() => import('./gate_page'), 'GatePage'),
});

const aliasRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/aliases/$alias',
  component: lazyRouteComponent(() => import('./alias_page'), 'AliasPage'),
});

export const promotionRoutes = [promotionsRoute, promotionRoute, gateRoute, aliasRoute] as const;
