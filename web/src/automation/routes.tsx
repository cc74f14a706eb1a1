import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { repositoryRoute } from '@/app/layout_routes';
import { oneOf, text } from '@/app/search_params';
import { type DeliveryState, deliveryStates } from './delivery_states';

const automationViews = ['hooks', 'webhooks'] as const;

const automationRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/automation',
  validateSearch: (
    raw: Record<string, unknown>,
  ): { view?: (typeof automationViews)[number] | undefined; branch?: string | undefined } => ({
    view: oneOf(raw.view, automationViews),
    branch: text(raw.branch),
  }),
  component: lazyRouteComponent(() => import('./automation_page'), 'AutomationPage'),
});

const hookRunRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/automation/runs/$run',
  validateSearch: (raw: Record<string, unknown>): { step?: string | undefined } => ({ step: text(raw.step) }),
  component: lazyRouteComponent(() => import('./hook_run_page'), 'HookRunPage'),
});

const webhookRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/automation/webhooks/$webhook',
  validateSearch: (raw: Record<string, unknown>): { state?: DeliveryState | undefined } => ({
    state: oneOf(raw.state, deliveryStates),
  }),
  component: lazyRouteComponent(() => import('./webhook_page'), 'WebhookPage'),
});

export const automationRoutes = [automationRoute, hookRunRoute, webhookRoute] as const;
