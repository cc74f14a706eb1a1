// The files that the server hands out to its users: packages of clients.
import { queryOptions } from '@tanstack/react-query';
import { guardedFetch } from '@/api/client';

/** Names in the page /downloads/: links to files beside it. */
export function namesIn(page: string): string[] {
  return [...page.matchAll(/<a href="([^"/]+)">/g)].map((link) => link[1] ?? '');
}

/** None where a proxy does not pass /downloads/ on. */
export const downloadsQuery = queryOptions({
  queryKey: ['downloads'],
  queryFn: async ({ signal }) => {
    const response = await guardedFetch(new Request('/downloads/', { signal }));
    return response.ok ? namesIn(await response.text()) : [];
  },
});
