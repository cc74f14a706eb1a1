import { useState } from 'react';
import { answer, api } from '@/api/client';
import { queryClient } from '@/api/query_client';
import { FormDialog } from '@/ui/dialog';
import { PairsField, TextField } from '@/ui/field';
import { toast } from '@/ui/toast';
import { branchChanged } from './object_dialogs';

/** Commits what is uncommitted on a branch. */
export function CommitDialog({
  repository,
  branch,
  isOpen,
  onClose,
}: {
  repository: string;
  branch: string;
  isOpen: boolean;
  onClose: () => void;
}) {
  const [message, setMessage] = useState('');
  const [pairs, setPairs] = useState<[string, string][]>([]);
  return (
    <FormDialog
      title={`Commit to ${branch}`}
      action="Commit"
      isOpen={isOpen}
      onClose={onClose}
      refused={message.trim() === '' ? 'Enter a message' : undefined}
      onSubmit={async () => {
        const commit = await answer(
          api.POST('/repositories/{repository}/branches/{branch}/commits', {
            params: { path: { repository, branch } },
            body: { message, metadata: Object.fromEntries(pairs), allow_empty: false, force: false },
          }),
        );
        branchChanged(repository, branch);
        for (const queryKey of [
          ['refs', repository],
          ['log', repository],
          ['last-commit', repository],
          ['branch', repository, branch],
        ])
          void queryClient.invalidateQueries({ queryKey });
        setMessage('');
        setPairs([]);
        toast(`Committed ${commit.id.slice(0, 12)}`);
      }}
    >
      <TextField label="Message" value={message} onChange={setMessage} rows={3} autoFocus required />
      <PairsField label="Metadata" pairs={pairs} onChange={setPairs} />
    </FormDialog>
  );
}
