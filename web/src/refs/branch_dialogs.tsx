import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api } from '@/api/client';
import { resource } from '@/api/permissions';
import { queryClient } from '@/api/query_client';
import { FormDialog } from '@/ui/dialog';
import { Select, TextField } from '@/ui/field';
import { counted } from '@/ui/format';
import { PermittedItem } from '@/ui/menu';
import { toast } from '@/ui/toast';
import { ExpiryDialog, refsChanged } from './ref_dialogs';
import type { NamedRef } from './ref_queries';

/** Which change of a branch a dialog is open for. */
export interface BranchChange {
  kind: 'expiry' | 'rename' | 'rebase';
  branch: NamedRef;
}

/** Items of a branch's menu that change the branch. */
export function changeItems(repository: string, branch: NamedRef, base: string, open: (change: BranchChange) => void) {
  const isBase = branch.name === base;
  const on = resource.branch(repository, branch.name);
  return [
    <PermittedItem
      key="rename"
      action="fs:DeleteBranch"
      on={on}
      icon="edit"
      onAction={() => open({ kind: 'rename', branch })}
    >
      Rename…
    </PermittedItem>,
    <PermittedItem
      key="rebase"
      action="fs:RevertBranch"
      on={on}
      icon="commit"
      onAction={() => open({ kind: 'rebase', branch })}
      refused={isBase ? 'It is the default branch' : undefined}
    >
      Rebase…
    </PermittedItem>,
    <PermittedItem
      key="expiry"
      action="fs:DeleteBranch"
      on={on}
      icon="history"
      onAction={() => open({ kind: 'expiry', branch })}
      refused={isBase ? 'The default branch does not expire' : undefined}
    >
      Set expiry…
    </PermittedItem>,
  ];
}

interface BranchDialogProps {
  repository: string;
  branch: NamedRef;
  base: string;
  onClose: () => void;
}

export function BranchChangeDialog({
  change,
  ...dialog
}: Omit<BranchDialogProps, 'branch'> & { change: BranchChange }) {
  const props = { ...dialog, branch: change.branch };
  if (change.kind === 'rename') return <RenameDialog {...props} />;
  if (change.kind === 'rebase') return <RebaseDialog {...props} />;
  return <ExpiryDialog {...props} />;
}

function RenameDialog({ repository, branch, base, onClose }: BranchDialogProps) {
  const [name, setName] = useState(branch.name);
  const navigate = useNavigate();
  return (
    <FormDialog
      title={`Rename ${branch.name}`}
      action="Rename"
      isOpen
      onClose={onClose}
      refused={name.trim() === branch.name || !name.trim() ? 'Type another name' : undefined}
      onSubmit={async () => {
        await answer(
          api.POST('/repositories/{repository}/branches/{branch}/rename', {
            params: { path: { repository, branch: branch.name } },
            body: { name: name.trim() },
          }),
        );
        if (branch.name === base) await queryClient.invalidateQueries({ queryKey: ['repository', repository] });
        await refsChanged(repository);
        toast(`${branch.name} is named ${name.trim()}`);
        void navigate({ to: '.', search: (search) => search });
      }}
    >
      <TextField
        label="New name"
        value={name}
        onChange={setName}
        required
        mono
        autoFocus
        help={
          `Uncommitted changes, open pull requests and rules of exactly this name follow. ` +
          `Clients that use ${branch.name} find no branch then.`
        }
      />
    </FormDialog>
  );
}

function RebaseDialog({ repository, branch, base, onClose }: BranchDialogProps) {
  const [onto, setOnto] = useState(base);
  const [strategy, setStrategy] = useState('');
  return (
    <FormDialog
      title={`Rebase ${branch.name}`}
      action="Rebase"
      isOpen
      onClose={onClose}
      onSubmit={async () => {
        const done = await answer(
          api.POST('/repositories/{repository}/branches/{branch}/rebase', {
            params: { path: { repository, branch: branch.name } },
            body: { onto: onto.trim(), force: false, ...(strategy ? { strategy } : {}) },
          }),
        );
        await refsChanged(repository);
        toast(
          done.id === done.before
            ? `${branch.name} is based on ${onto.trim()} already`
            : `${branch.name}: ${counted(done.commits.length, 'commit')} made again on ${onto.trim()}`,
        );
      }}
    >
      <TextField
        label="Onto"
        value={onto}
        onChange={setOnto}
        required
        mono
        autoFocus
        help={`Its own commits are made again on this ref. ${branch.name} must have no uncommitted changes.`}
      />
      <Select
        label="Where both changed a path"
        value={strategy}
        onChange={setStrategy}
        options={[
          { value: '', label: 'Stop and name the paths' },
          { value: 'source-wins', label: `Keep the side of ${branch.name}` },
          { value: 'dest-wins', label: 'Keep the other side' },
        ]}
      />
    </FormDialog>
  );
}
