import { useQuery } from '@tanstack/react-query';
import { answer, api } from '@/api/client';
import { branchChanged } from '@/objects/object_dialogs';
import { ConfirmDialog } from '@/ui/dialog';
import { counted } from '@/ui/format';
import { toast } from '@/ui/toast';
import { objectCount, summaryQuery, uncommittedSides } from './diff_queries';

export type ResetScope = { type: 'reset' } | { type: 'common_prefix' | 'object'; path: string };

/** Discards uncommitted changes: of the branch, below a prefix, or of one object. */
export function ResetDialog({
  repository,
  branch,
  scope,
  onClose,
  onDone,
}: {
  repository: string;
  branch: string;
  scope: ResetScope;
  onClose: () => void;
  onDone: () => void;
}) {
  const prefix = scope.type === 'common_prefix' ? scope.path : '';
  const summary = useQuery({
    ...summaryQuery(uncommittedSides(repository, branch), prefix, ''),
    enabled: scope.type !== 'object',
  });
  const title = scope.type === 'reset' ? `Reset ${branch}?` : `Reset ${scope.path}?`;
  return (
    <ConfirmDialog
      title={title}
      action="Reset"
      isOpen
      onClose={onClose}
      onConfirm={async () => {
        await answer(
          api.PUT('/repositories/{repository}/branches/{branch}', {
            params: { path: { repository, branch } },
            body: { type: scope.type, ...(scope.type === 'reset' ? {} : { path: scope.path }), force: false },
          }),
        );
        branchChanged(repository, branch);
        onDone();
        toast('The changes were discarded');
      }}
    >
      <p>
        Discards{' '}
        {scope.type === 'object'
          ? 'the uncommitted change of this object'
          : summary.data
            ? counted(objectCount(summary.data), 'uncommitted change')
            : 'the uncommitted changes'}{' '}
        on {branch}. What the last commit has is there again. This cannot be undone.
      </p>
    </ConfirmDialog>
  );
}
