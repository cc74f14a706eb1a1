import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider, createRouter } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { whenUnauthenticated } from './api/client';
import { queryClient } from './api/query_client';
import { sessionQuery } from './api/session';
import { sessionEnd } from './api/session_end';
import { routeTree } from './app/route_tree';
import { parseSearch, stringifySearch } from './app/search_params';
import { applyTheme, currentTheme } from './app/theme';
import { Skeleton } from './ui/states';
import './ui/base.css';

applyTheme(currentTheme());

const router = createRouter({
  routeTree,
  parseSearch: (text) => parseSearch(text.replace(/^\?/, '')),
  stringifySearch,
  defaultPreload: 'intent',
  defaultPendingComponent: () => (
    <div className="page">
      <Skeleton rows={6} />
    </div>
  ),
  defaultPendingMs: 300,
  scrollRestoration: false,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}

// The session ended on the server. The page stays below a login; without a user there was none, and the routes lead to the login.
whenUnauthenticated(() => {
  if (queryClient.getQueryData(sessionQuery.queryKey)) sessionEnd.set(true);
});
// Pages that failed to load meanwhile load again.
sessionEnd.subscribe(() => {
  if (!sessionEnd.hasEnded()) void router.invalidate();
});

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>
  </StrictMode>,
);
