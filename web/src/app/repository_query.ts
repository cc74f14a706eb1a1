import { queryOptions } from '@tanstack/react-query';
import { answer, api } from '@/api/client';

export const repositoryQuery = (repository: string) =>
  queryOptions({
    queryKey: ['repository', repository],
    queryFn: () => answer(api.GET('/repositories/{repository}', { params: { path: { repository } } })),
  });
