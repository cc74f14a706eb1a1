import { useQuery } from '@tanstack/react-query';
import { answer, api } from '@/api/client';
import { queryClient } from '@/api/query_client';
import { forget } from '@/app/recent';
import { refsQuery } from '@/refs/ref_queries';
import { ConfirmDialog } from '@/ui/dialog';
import { bytes, counted } from '@/ui/format';
import { toast } from '@/ui/toast';

/** Says in numbers what is lost, and wants the name typed. */
export function DeleteRepository({
  repository,
  onClose,
  onDeleted,
}: {
  repository: string;
  onClose: () => void;
  onDeleted?: () => Promise<void>;
}) {
  const refs = useQuery(refsQuery(repository));
  const usage = useQuery({
    queryKey: ['usage', repository],
    queryFn: ({ signal }) =>
      answer(api.GET('/repositories/{repository}/usage', { params: { path: { repository } }, signal })),
  });
  const of = (kind: string) => refs.data?.filter((ref) => ref.kind === kind).length ?? 0;
  const largest = usage.data?.results.reduce((most, item) => (item.bytes > most.bytes ? item : most), {
    bytes: 0,
    objects: 0,
  });
  return (
    <ConfirmDialog
      title={`Delete ${repository}?`}
      action="Delete repository"
      typed={repository}
      isOpen
      onClose={onClose}
      onConfirm={async () => {
        await answer(api.DELETE('/repositories/{repository}', { params: { path: { repository } } }));
        forget('repositories', repository);
        // Leaves pages of the repository first: they would ask for it again.
        await onDeleted?.();
        queryClient.removeQueries({ queryKey: ['repository', repository] });
        await queryClient.invalidateQueries({ queryKey: ['repositories'] });
        toast(`Repository ${repository} was deleted`);
      }}
    >
      <p>
        {refs.data ? (
          <>
            Deletes {counted(of('branch'), 'branch', 'branches')}, {counted(of('tag'), 'tag')} and{' '}
            {counted(of('alias'), 'alias', 'aliases')} with all commits and uncommitted changes.{' '}
          </>
        ) : (
          'Deletes all branches, tags and commits. '
        )}
        {largest && largest.objects > 0 && (
          <>
            Its largest branch has {counted(largest.objects, 'object')} of {bytes(largest.bytes)}.{' '}
          </>
        )}
        For a week, or as long as the operator chose, the page of deleted repositories or{' '}
        <code>tarn repo undelete {repository}</code> restores it; then its objects are removed from the store.
      </p>
    </ConfirmDialog>
  );
}
