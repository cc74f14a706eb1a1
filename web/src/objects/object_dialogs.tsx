import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer, api, guardedFetch, type Schemas } from '@/api/client';
import { ApiError } from '@/api/errors';
import { queryClient } from '@/api/query_client';
import { RefPicker } from '@/ui/ref_picker';
import { ConfirmDialog, FormDialog } from '@/ui/dialog';
import { Checkbox, PairsField, TextField } from '@/ui/field';
import { bytes, count, counted } from '@/ui/format';
import { Progress } from '@/ui/states';
import { toast } from '@/ui/toast';
import { type ObjectStats, objectsKey } from './object_queries';
import { folderOf, nameOf } from './paths';

const deletedAtOnce = 1000;
const copiedAtOnce = 8;

/** Reloads the queries that show the branch, except details of paths that are gone. */
export function branchChanged(repository: string, branch: string, isGone: (path: string) => boolean = () => false) {
  void queryClient.invalidateQueries({
    queryKey: objectsKey(repository, branch),
    predicate: ({ queryKey: [, , , kind, path] }) => kind !== 'stat' || !isGone(String(path)),
  });
  for (const queryKey of [
    ['uncommitted', repository, branch],
    ['usage', repository],
    ['diff', repository],
  ]) {
    void queryClient.invalidateQueries({ queryKey });
  }
}

interface Where {
  repository: string;
  branch: string;
}

interface DialogProps extends Where {
  items: readonly ObjectStats[];
  onClose: () => void;
  onDone: () => void;
}

const isFolder = (item: ObjectStats) => item.path_type === 'common_prefix';

/** Whether a path is one of the items or below one. */
function within(items: readonly ObjectStats[]) {
  return (path: string) => items.some((item) => (isFolder(item) ? path.startsWith(item.path) : path === item.path));
}

/** Every path of the items, those below folders too, in pages. */
async function* pathsOf({ repository, branch }: Where, items: readonly ObjectStats[]): AsyncGenerator<string[]> {
  const single = items.filter((item) => !isFolder(item)).map((item) => item.path);
  for (let at = 0; at < single.length; at += deletedAtOnce) yield single.slice(at, at + deletedAtOnce);
  for (const item of items.filter(isFolder)) {
    let after = '';
    for (;;) {
      const page = await answer(
        api.GET('/repositories/{repository}/refs/{ref}/objects/ls', {
          params: {
            path: { repository, ref: branch },
            query: { prefix: item.path, after, amount: deletedAtOnce, user_metadata: false },
          },
        }),
      );
      if (page.results.length > 0) yield page.results.map((object) => object.path);
      if (!page.pagination.has_more) break;
      after = page.pagination.next_offset;
    }
  }
}

/** How many objects and bytes the items are. */
function useAmount({ repository, branch }: Where, items: readonly ObjectStats[]) {
  const folders = items.filter(isFolder).map((item) => item.path);
  return useQuery({
    queryKey: ['usage', repository, branch, 'of', folders, items.length],
    queryFn: async ({ signal }) => {
      const total = {
        objects: items.length - folders.length,
        bytes: items.reduce((sum, item) => sum + (item.size_bytes ?? 0), 0),
      };
      for (const prefix of folders) {
        const usage = await answer(
          api.GET('/repositories/{repository}/usage', {
            params: { path: { repository }, query: { ref: branch, prefix } },
            signal,
          }),
        );
        total.objects += usage.logical?.objects ?? 0;
        total.bytes += usage.logical?.bytes ?? 0;
      }
      return total;
    },
  });
}

export function DeleteObjects({ repository, branch, items, onClose, onDone }: DialogProps) {
  const amount = useAmount({ repository, branch }, items);
  const [deleted, setDeleted] = useState(0);
  const title = items.length === 1 ? `Delete ${nameOf(items[0]!.path)}?` : `Delete ${counted(items.length, 'item')}?`;
  const remove = async () => {
    let done = 0;
    for await (const paths of pathsOf({ repository, branch }, items)) {
      const result = await answer(
        api.POST('/repositories/{repository}/branches/{branch}/objects/delete', {
          params: { path: { repository, branch } },
          body: { paths },
        }),
      );
      const failed = result.errors[0];
      if (failed)
        throw new ApiError(
          failed.status_code,
          `${count(result.errors.length)} of ${count(paths.length)} were not deleted; the first is ${failed.path}: ${failed.message}`,
        );
      done += paths.length;
      setDeleted(done);
    }
    branchChanged(repository, branch, within(items));
    onDone();
    toast(`Deleted ${counted(done, 'object')}`);
  };
  return (
    <ConfirmDialog title={title} action="Delete" isOpen onClose={onClose} onConfirm={remove}>
      <p>
        {amount.data ? (
          <>
            Deletes {counted(amount.data.objects, 'object')} of {bytes(amount.data.bytes)} from {branch},
            uncommitted:{' '}
          </>
        ) : (
          <>Deletes them from {branch}, uncommitted: </>
        )}
        a reset of the branch brings them back, and commits that hold them keep them.
      </p>
      {deleted > 0 && (
        <Progress label="Deleting" value={amount.data ? deleted / Math.max(1, amount.data.objects) : undefined}>
          {counted(deleted, 'object')} deleted
        </Progress>
      )}
    </ConfirmDialog>
  );
}

/** Renames one object or folder, or moves several into a folder: by reference, at one moment for each. */
export function MoveObjects({ repository, branch, items, onClose, onDone }: DialogProps) {
  const one = items.length === 1 ? items[0]! : undefined;
  const [target, setTarget] = useState(one ? one.path : folderOf(items[0]!.path));
  const [overwrite, setOverwrite] = useState(false);
  const destinationOf = (item: ObjectStats) =>
    one
      ? isFolder(item) && !target.endsWith('/')
        ? `${target}/`
        : target
      : `${target === '' || target.endsWith('/') ? target : `${target}/`}${nameOf(item.path)}`;
  const move = async () => {
    let moved = 0;
    for (const item of items) {
      const destination = destinationOf(item);
      const body: Schemas['ObjectMove'] = isFolder(item)
        ? { src_prefix: item.path, dest_prefix: destination, overwrite, force: false }
        : { src_path: item.path, dest_path: destination, overwrite, force: false };
      moved += (
        await answer(
          api.POST('/repositories/{repository}/branches/{branch}/objects/move', {
            params: { path: { repository, branch } },
            body,
          }),
        )
      ).moved;
    }
    branchChanged(repository, branch, within(items));
    onDone();
    toast(`Moved ${counted(moved, 'object')}`);
  };
  return (
    <FormDialog
      title={one ? `Rename or move ${nameOf(one.path)}` : `Move ${counted(items.length, 'item')}`}
      action="Move"
      isOpen
      onClose={onClose}
      onSubmit={move}
      refused={one && (target === '' || target === one.path) ? 'Enter another path' : undefined}
    >
      <TextField
        label={one ? 'New path' : 'Into the folder'}
        value={target}
        onChange={setTarget}
        mono
        autoFocus
        help="By reference: no byte is copied."
      />
      <Checkbox checked={overwrite} onChange={setOverwrite}>
        Replace objects that are there
      </Checkbox>
    </FormDialog>
  );
}

/** Copies by reference within the repository, to this branch or another one. */
export function CopyObjects({ repository, branch: from, items, onClose, onDone }: DialogProps) {
  const one = items.length === 1 ? items[0]! : undefined;
  const [branch, setBranch] = useState(from);
  const [target, setTarget] = useState(one ? one.path : folderOf(items[0]!.path));
  const [copied, setCopied] = useState(0);
  const copy = async () => {
    const root = one ? one.path : folderOf(items[0]!.path);
    const into = target === '' || target.endsWith('/') || (one !== undefined && !isFolder(one)) ? target : `${target}/`;
    let done = 0;
    for await (const paths of pathsOf({ repository, branch: from }, items)) {
      for (let at = 0; at < paths.length; at += copiedAtOnce) {
        await Promise.all(
          paths.slice(at, at + copiedAtOnce).map((path) =>
            answer(
              api.POST('/repositories/{repository}/branches/{branch}/objects/copy', {
                params: { path: { repository, branch }, query: { dest_path: into + path.slice(root.length) } },
                body: { src_path: path, src_ref: from, force: false, shallow: false },
              }),
            ),
          ),
        );
        done += Math.min(copiedAtOnce, paths.length - at);
        setCopied(done);
      }
    }
    branchChanged(repository, branch);
    onDone();
    toast(`Copied ${counted(done, 'object')} to ${branch}`);
  };
  return (
    <FormDialog
      title={one ? `Copy ${nameOf(one.path)}` : `Copy ${counted(items.length, 'item')}`}
      action="Copy"
      isOpen
      onClose={onClose}
      onSubmit={copy}
      refused={
        branch === from && (one ? target === one.path : target === folderOf(items[0]!.path))
          ? 'Enter another path, or choose another branch'
          : undefined
      }
    >
      <div className="stack-tight">
        <span style={{ fontWeight: 500 }}>To the branch</span>
        <div>
          <RefPicker
            repository={repository}
            value={branch}
            label="Branch to copy to"
            kinds={['branch']}
            onChange={setBranch}
          />
        </div>
      </div>
      <TextField
        label={one ? 'Path of the copy' : 'Into the folder'}
        value={target}
        onChange={setTarget}
        mono
        autoFocus
        help="By reference: no byte is copied."
      />
      {copied > 0 && <Progress label="Copying">{counted(copied, 'object')} copied</Progress>}
    </FormDialog>
  );
}

export function EditMetadata({
  repository,
  branch,
  object,
  onClose,
}: Where & { object: ObjectStats; onClose: () => void }) {
  const [pairs, setPairs] = useState<[string, string][]>(Object.entries(object.metadata ?? {}));
  const keys = pairs.map(([key]) => key);
  return (
    <FormDialog
      title={`Metadata of ${nameOf(object.path)}`}
      action="Save"
      isOpen
      onClose={onClose}
      refused={
        keys.some((key) => key === '')
          ? 'Each value needs a key'
          : new Set(keys).size < keys.length
            ? 'A key is there twice'
            : undefined
      }
      onSubmit={async () => {
        await answer(
          api.PUT('/repositories/{repository}/branches/{branch}/objects/stat/user_metadata', {
            params: { path: { repository, branch }, query: { path: object.path } },
            body: { set: Object.fromEntries(pairs) },
          }),
        );
        branchChanged(repository, branch);
        toast('Metadata saved, uncommitted');
      }}
    >
      <PairsField label="User metadata" pairs={pairs} onChange={setPairs} />
    </FormDialog>
  );
}

/** Writes a small text object; refuses if it changed since it was read. */
export function EditText({
  repository,
  branch,
  path,
  text,
  etag,
  contentType,
  onClose,
  onDone,
}: Where & {
  path: string;
  text: string;
  etag?: string | undefined;
  contentType: string;
  onClose: () => void;
  onDone?: (path: string) => void;
}) {
  const isNew = etag === undefined;
  const [name, setName] = useState(path);
  const [value, setValue] = useState(text);
  return (
    <FormDialog
      title={isNew ? 'New text object' : `Edit ${nameOf(path)}`}
      action="Save"
      isOpen
      onClose={onClose}
      wide
      refused={name === '' || name.endsWith('/') ? 'Enter a path' : undefined}
      onSubmit={async () => {
        const response = await guardedFetch(
          new Request(
            `/api/v1/repositories/${encodeURIComponent(repository)}/branches/${encodeURIComponent(branch)}/objects?path=${encodeURIComponent(name)}`,
            {
              method: 'POST',
              body: new Blob([value]),
              headers: { 'Content-Type': contentType, ...(isNew ? { 'If-None-Match': '*' } : { 'If-Match': etag }) },
            },
          ),
        );
        await answer(
          response
            .json()
            .catch(() => ({}))
            .then((body: unknown) => (response.ok ? { data: body, response } : { error: body, response })),
        );
        branchChanged(repository, branch);
        onDone?.(name);
        toast(`${nameOf(name)} saved, uncommitted`);
      }}
    >
      {isNew && <TextField label="Path" value={name} onChange={setName} mono autoFocus />}
      <TextField label="Text" value={value} onChange={setValue} rows={16} mono autoFocus={!isNew} />
    </FormDialog>
  );
}
