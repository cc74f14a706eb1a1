import { QueryClient } from '@tanstack/react-query';
import { connection } from './connection';
import { ApiError } from './errors';

const retriesMax = 2;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      gcTime: 5 * 60_000,
      networkMode: 'always', // loopback needs no network
      retry: (count, error) =>
        count < retriesMax &&
        error instanceof ApiError &&
        error.isTransient &&
        (error.status === 429 || error.status === 503),
    },
    mutations: { networkMode: 'always', retry: false },
  },
});

connection.onReturn = () => void queryClient.invalidateQueries();
