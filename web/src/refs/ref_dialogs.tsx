import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { answer, api } from '@/api/client';
import { ApiError, Remark } from '@/api/errors';
import { queryClient } from '@/api/query_client';
import { ConfirmDialog, FormDialog } from '@/ui/dialog';
import { Select, TextField } from '@/ui/field';
import { bytes, counted } from '@/ui/format';
import { Progress } from '@/ui/states';
import { toast } from '@/ui/toast';
import type { NamedRef, RefKind } from './ref_queries';

export async function refsChanged(repository: string) {
  // The list first: rows of refs that are gone would ask for their history again.
  await queryClient.invalidateQueries({ queryKey: ['refs', repository] });
  for (const name of ['branch', 'log', 'alias-history'])
    void queryClient.invalidateQueries({ queryKey: [name, repository] });
}

const kindNames: Record<RefKind, string> = { branch: 'branch', tag: 'tag', alias: 'alias' };

/** Makes a branch or a tag, or sets an alias, at a ref. */
export function CreateRef({
  repository,
  kind: first,
  source: from,
  onClose,
  onCreated,
}: {
  repository: string;
  kind: RefKind;
  source: string;
  onClose: () => void;
  onCreated?: (kind: RefKind, name: string) => void;
}) {
  const [kind, setKind] = useState<RefKind>(first);
  const [name, setName] = useState('');
  const [source, setSource] = useState(from);
  const [expires, setExpires] = useState('');
  const [reason, setReason] = useState('');
  const create = async () => {
    const path = { repository };
    if (kind === 'branch') {
      await answer(
        api.POST('/repositories/{repository}/branches', {
          params: { path },
          body: { name, source, force: false, hidden: false, ...(expires ? { expires } : {}) },
          parseAs: 'text',
        }),
      );
    } else if (kind === 'tag') {
      await answer(
        api.POST('/repositories/{repository}/tags', {
          params: { path },
          body: { id: name, ref: source, force: false },
        }),
      );
    } else {
      await answer(
        api.POST('/repositories/{repository}/aliases/{alias}:set', {
          params: { path: { repository, alias: name } },
          body: { to: source, ...(reason ? { reason } : {}) },
        }),
      );
    }
    await refsChanged(repository);
    toast(kind === 'alias' ? `@${name} is set` : `Created ${kindNames[kind]} ${name}`);
    onCreated?.(kind, name);
  };
  return (
    <FormDialog
      title="Create a ref"
      action={kind === 'alias' ? 'Set alias' : `Create ${kindNames[kind]}`}
      isOpen
      onClose={onClose}
      onSubmit={create}
      refused={name.trim() === '' ? 'Enter a name' : source.trim() === '' ? 'Enter where it begins' : undefined}
    >
      <Select
        label="Kind"
        value={kind}
        onChange={setKind}
        options={[
          { value: 'branch', label: 'Branch' },
          { value: 'tag', label: 'Tag' },
          { value: 'alias', label: 'Alias' },
        ]}
      />
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        autoFocus
        required
        mono
        help={kind === 'alias' ? 'Read as @name. An alias that exists is moved.' : 'Letters, digits, - _ . and /'}
      />
      <TextField
        label={kind === 'branch' ? 'Begins at' : 'At'}
        value={source}
        onChange={setSource}
        required
        mono
        help="A branch, tag, @alias, commit, or main~3"
      />
      {kind === 'branch' && (
        <TextField
          label="Expires"
          value={expires}
          onChange={setExpires}
          placeholder="never"
          help="A time from now like 72h, or as in RFC 3339; then it is deleted by itself"
        />
      )}
      {kind === 'alias' && <TextField label="Reason" value={reason} onChange={setReason} help="For its history" />}
    </FormDialog>
  );
}

/** When a branch is deleted by itself. */
export function ExpiryDialog({
  repository,
  branch,
  onClose,
}: {
  repository: string;
  branch: NamedRef;
  onClose: () => void;
}) {
  const [expires, setExpires] = useState(branch.expires ?? '');
  return (
    <FormDialog
      title={`Expiry of ${branch.name}`}
      action="Set expiry"
      isOpen
      onClose={onClose}
      onSubmit={async () => {
        await answer(
          api.PUT('/repositories/{repository}/branches/{branch}/expiry', {
            params: { path: { repository, branch: branch.name } },
            body: { expires: expires.trim() || 'never' },
          }),
        );
        await refsChanged(repository);
        toast(`The expiry of ${branch.name} is set`);
      }}
    >
      <TextField
        label="Expires"
        value={expires}
        onChange={setExpires}
        placeholder="never"
        autoFocus
        help="72h, 2026-12-24T18:00:00Z, or never"
      />
    </FormDialog>
  );
}

/** Refs whose freed bytes are computed before a deletion; each may read many commits. */
const measuredMax = 5;

interface DeleteRefsProps {
  repository: string;
  refs: readonly NamedRef[];
  onClose: () => void;
  onDone: () => void;
  /** Branches are kept that something uses. */
  unused?: boolean;
}

/** Deletes a ref if it is where it was seen: the server compares, so nothing that came since is lost. */
async function deleteRef(repository: string, ref: NamedRef, unused: boolean) {
  const path = { repository };
  if (ref.kind === 'branch')
    await answer(
      api.DELETE('/repositories/{repository}/branches/{branch}', {
        params: { path: { ...path, branch: ref.name }, query: { expect: ref.commit, ...(unused ? { unused } : {}) } },
      }),
    );
  else if (ref.kind === 'tag')
    await answer(api.DELETE('/repositories/{repository}/tags/{tag}', { params: { path: { ...path, tag: ref.name } } }));
  else
    await answer(
      api.DELETE('/repositories/{repository}/aliases/{alias}', {
        params: { path: { ...path, alias: ref.name.slice(1) }, query: { expect: ref.commit } },
      }),
    );
}

/** Why the server kept a ref; undefined if its deletion failed. */
async function whyKept(repository: string, ref: NamedRef, error: unknown): Promise<string | undefined> {
  switch (error instanceof ApiError ? error.reason : '') {
    case 'branch_moved':
      return 'its head has moved';
    case 'destination_moved':
      return 'it has moved';
    case 'branch_in_use': {
      const page = await answer(
        api.GET('/repositories/{repository}/stale_branches', {
          params: { path: { repository }, query: { prefix: ref.name, amount: 1, days: 0 } },
        }),
      );
      const now = page.results[0];
      return (now?.id === ref.name ? now.kept_because : undefined) ?? 'it was in use';
    }
  }
  return undefined;
}

/** Deletes refs after saying how many, and what that would leave to garbage collection. */
export function DeleteRefs({ repository, refs, onClose, onDone, unused = false }: DeleteRefsProps) {
  const [done, setDone] = useState(0);
  const gone = useRef(new Set<NamedRef>()); // the dialog stays open after a failure, and may be confirmed again
  const [running, setRunning] = useState(false);
  const measuredKey = ['usage', repository, 'freed', refs.map((ref) => ref.name)];
  const measured = useQuery({
    queryKey: measuredKey,
    staleTime: 60_000,
    enabled: !running && refs.length <= measuredMax,
    queryFn: async ({ signal }) => {
      let bytes = 0;
      // One after the other: a server computes two of all users at a time, and refuses more.
      for (const ref of refs) {
        const usage = await answer(
          api.GET('/repositories/{repository}/usage', {
            params: { path: { repository }, query: { ref: ref.name, exact: true } },
            signal,
          }),
        );
        bytes += usage.stored?.freed?.bytes ?? 0;
      }
      return bytes;
    },
  });
  const of = (kind: RefKind) => refs.filter((ref) => ref.kind === kind).length;
  const parts = [
    of('branch') && counted(of('branch'), 'branch', 'branches'),
    of('tag') && counted(of('tag'), 'tag'),
    of('alias') && counted(of('alias'), 'alias', 'aliases'),
  ].filter(Boolean);
  return (
    <ConfirmDialog
      title={refs.length === 1 ? `Delete ${refs[0]!.name}?` : `Delete ${counted(refs.length, 'ref')}?`}
      action="Delete"
      isOpen
      onClose={onClose}
      onConfirm={async () => {
        setRunning(true);
        await queryClient.cancelQueries({ queryKey: measuredKey }); // refs that are gone cannot be measured
        const kept: string[] = [];
        try {
          for (const ref of refs) {
            if (gone.current.has(ref)) continue;
            try {
              await deleteRef(repository, ref, unused);
            } catch (error) {
              const why = await whyKept(repository, ref, error);
              if (why === undefined) throw error;
              kept.push(`${ref.name}: ${why}`);
              continue;
            }
            gone.current.add(ref);
            setDone(gone.current.size);
          }
        } finally {
          await refsChanged(repository);
        }
        if (kept.length > 0) {
          const [one, many] = of('branch') === refs.length ? ['branch', 'branches'] : ['ref', 'refs'];
          throw new Remark(`Deleted ${counted(gone.current.size, one, many)} and kept ${kept.join('; ')}.`);
        }
        onDone();
        toast(`Deleted ${parts.join(', ')}`);
      }}
    >
      <p>
        Deletes {parts.join(', ')}
        {of('branch') > 0 &&
          (unused ? ', each only if nothing has used it since' : ' with their uncommitted changes')}.{' '}
        {measured.data !== undefined ? (
          <>
            Garbage collection can then free {refs.length > 1 ? 'at least ' : ''}
            <strong>{bytes(measured.data)}</strong>, after its waiting time.
          </>
        ) : refs.length > measuredMax ? (
          'What only they hold is left to garbage collection.'
        ) : measured.error || running ? (
          'How much that frees is not known.'
        ) : (
          'Computing how much that frees…'
        )}
      </p>
      {done > 0 && (
        <Progress label="Deleting" value={done / refs.length}>
          {counted(done, 'ref')} deleted
        </Progress>
      )}
    </ConfirmDialog>
  );
}
