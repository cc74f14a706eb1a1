import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { refRoute, repositoryRoute } from '@/app/layout_routes';
import { flag, integer, oneOf, text } from '@/app/search_params';
import type { LogFilter } from './log_queries';

type Raw = Record<string, unknown>;

function day(raw: unknown): string | undefined {
  const value = text(raw);
  return value !== undefined && /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value)) ? value : undefined;
}

const historyRoute = createRoute({
  getParentRoute: () => refRoute,
  path: 'history',
  validateSearch: (raw: Raw): LogFilter & { view?: 'blame' | undefined } => ({
    path: text(raw.path),
    author: text(raw.author),
    message: text(raw.message),
    metadata: text(raw.metadata),
    since: day(raw.since),
    until: day(raw.until),
    first: flag(raw.first),
    view: oneOf(raw.view, ['blame']),
  }),
  component: lazyRouteComponent(() => import('./history_page'), 'HistoryPage'),
});

const commitRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/commits/$commit',
  validateSearch: (
    raw: Raw,
  ): { prefix?: string | undefined; object?: string | undefined; parent?: number | undefined } => ({
    prefix: text(raw.prefix),
    object: text(raw.object),
    parent: integer(raw.parent, 1, 64),
  }),
  component: lazyRouteComponent(() => import('./commit_page'), 'CommitPage'),
});

/** Below /r/REPOSITORY/REF/. */
export const historyOfRefRoutes = [historyRoute] as const;
/** Below /r/REPOSITORY/. */
export const historyRoutes = [commitRoute] as const;
