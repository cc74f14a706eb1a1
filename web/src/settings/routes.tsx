import { createRoute, lazyRouteComponent } from '@tanstack/react-router';
import { repositoryRoute } from '@/app/layout_routes';
import { oneOf } from '@/app/search_params';
import { type Section, sections } from './sections';

const settingsRoute = createRoute({
  getParentRoute: () => repositoryRoute,
  path: '-/settings',
  validateSearch: (raw: Record<string, unknown>): { section?: Section | undefined } => ({
    section: oneOf(
      raw.section,
      sections.map((section) => section.id),
    ),
  }),
  component: lazyRouteComponent(() => import('./settings_page'), 'SettingsPage'),
});

/** Below /r/REPOSITORY/. */
export const settingsRoutes = [settingsRoute] as const;
