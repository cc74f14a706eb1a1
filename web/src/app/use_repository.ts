import { useQuery } from '@tanstack/react-query';
import type { Schemas } from '@/api/client';
import { repositoryQuery } from './repository_query';

export function useRepository(repository: string): Schemas['Repository'] | undefined {
  return useQuery(repositoryQuery(repository)).data;
}
