import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { answer, api, type Schemas } from '@/api/client';
import { ApiError, asError } from '@/api/errors';
import { randomKey } from '@/api/idempotency';
import { resource, useMay } from '@/api/permissions';
import { queryClient } from '@/api/query_client';
import { configQuery } from '@/api/session';
import { crumbs, isPlainPath } from '@/objects/paths';
import { Button } from '@/ui/button';
import { type Column, DataTable } from '@/ui/data_table';
import { Dialog, DialogActions } from '@/ui/dialog';
import { Checkbox, PairsField, TextField } from '@/ui/field';
import { count, counted } from '@/ui/format';
import { CopyAs } from '@/ui/copy_as';
import { shellWord, tarnUri } from '@/ui/snippets';
import { EmptyState, ErrorPanel, Progress } from '@/ui/states';
import { Badge, Bytes, Name, Time } from '@/ui/text';

type Change = 'removed' | 'changed' | 'added';
type Previewed = Partial<Schemas['ImportPreview']['results'][number]> & { path: string; change?: Change };

const previewed = 100;
const pollMs = 2000;

interface Settings {
  source: string;
  single: boolean;
  destination: string;
  message: string;
  metadata: [string, string][];
}

/** Imports objects by reference: where from, what will come, progress, and what came. */
export function ImportWizard({
  repository,
  branch,
  destination = '',
  onClose,
}: {
  repository: string;
  branch: string;
  destination?: string;
  onClose: () => void;
}) {
  const [settings, setSettings] = useState<Settings>({
    source: '',
    single: false,
    destination,
    message: '',
    metadata: [],
  });
  const [preview, setPreview] = useState<Schemas['ImportPreview'] | null>(null);
  const [id, setId] = useState<string | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [running, setRunning] = useState(false);
  const [typed, setTyped] = useState('');
  const path = { repository, branch };
  const body: Schemas['ImportCreation'] = {
    paths: [
      {
        type: settings.single ? 'object' : 'common_prefix',
        path: settings.source.trim(),
        destination: settings.destination,
      },
    ],
    commit: {
      message: settings.message || `Import ${settings.source.trim()}`,
      metadata: Object.fromEntries(settings.metadata),
      allow_empty: false,
      force: false,
    },
    force: false,
    if_changed: true,
  };
  const attempt = async (work: () => Promise<void>) => {
    if (running) return;
    setRunning(true);
    setError(null);
    try {
      await work();
    } catch (thrown) {
      setError(asError(thrown));
    } finally {
      setRunning(false);
    }
  };
  // The same key for the same preview: a second press, or a lost answer, starts no second import.
  const [key, setKey] = useState(randomKey);
  const look = () =>
    attempt(async () => {
      setTyped('');
      setPreview(
        await answer(
          api.POST('/repositories/{repository}/branches/{branch}/import/preview', {
            params: { path, query: { amount: previewed } },
            body,
          }),
        ),
      );
      setKey(randomKey());
    });
  const start = () =>
    attempt(async () =>
      setId(
        (
          await answer(
            api.POST('/repositories/{repository}/branches/{branch}/import', {
              params: { path, header: { 'Idempotency-Key': key } },
              body,
            }),
          )
        ).id,
      ),
    );

  return (
    <Dialog title={`Import into ${repository} at ${branch}`} isOpen onClose={onClose} wide>
      <div className="stack">
        {id !== null ? (
          <Running
            repository={repository}
            branch={branch}
            id={id}
            folder={crumbs(settings.destination).at(-1)?.prefix}
            onClose={onClose}
          />
        ) : preview ? (
          <>
            <Preview preview={preview} source={settings.source.trim()} />
            {removable(preview) > 0 && (
              <TextField
                label={
                  <>
                    Type <strong className="mono">{removable(preview)}</strong> to remove{' '}
                    {preview.removed === undefined ? 'what the source lacks' : counted(preview.removed, 'object')}
                  </>
                }
                value={typed}
                onChange={setTyped}
                mono
              />
            )}
            {error && <ErrorPanel error={error} />}
            <DialogActions>
              <CopyAs
                snippets={[
                  {
                    label: 'tarn',
                    text: [
                      'tarn',
                      'import',
                      ...(settings.single ? ['--object'] : []),
                      ...(removable(preview) > 0 ? ['--yes'] : []),
                      shellWord(settings.source.trim()),
                      shellWord(tarnUri(repository, branch, settings.destination)),
                    ].join(' '),
                  },
                ]}
              />
              <span className="grow" />
              <Button onPress={() => setPreview(null)}>Back</Button>
              <Button
                kind="primary"
                onPress={() => void start()}
                refused={
                  preview.results.length === 0
                    ? 'The source has no objects'
                    : removable(preview) > 0 && typed.trim() !== String(removable(preview))
                      ? 'Type how many objects are removed first'
                      : undefined
                }
              >
                Import
              </Button>
            </DialogActions>
          </>
        ) : (
          <form
            className="stack"
            onSubmit={(event) => {
              event.preventDefault();
              void look();
            }}
          >
            <Source settings={settings} onChange={setSettings} />
            {error && <ErrorPanel error={error} />}
            <Next
              repository={repository}
              branch={branch}
              onClose={onClose}
              running={running}
              refused={settings.source.trim() === '' ? 'Enter a source' : refusalOf(settings.destination)}
            />
          </form>
        )}
      </div>
    </Dialog>
  );
}

function Source({ settings, onChange }: { settings: Settings; onChange: (settings: Settings) => void }) {
  const config = useQuery(configQuery).data;
  const storage = config?.storage_config ?? config?.storage_config_list?.[0];
  const valid =
    !storage?.import_validity_regex ||
    settings.source === '' ||
    new RegExp(storage.import_validity_regex).test(settings.source.trim());
  return (
    <>
      <p className="muted">
        Objects are imported by reference: no byte is copied, and the source stays as it is. Everything below the
        destination is replaced by what the source has.
      </p>
      <TextField
        label="Source"
        value={settings.source}
        onChange={(source) => onChange({ ...settings, source })}
        autoFocus
        required
        mono
        placeholder="s3://bucket/prefix/ or local:///directory/"
        error={
          valid
            ? undefined
            : `This server imports from addresses like ${storage?.blockstore_namespace_example ?? 's3://'}.`
        }
        help="A prefix ends with a slash; without it, all names that begin with it are taken."
      />
      <Checkbox checked={settings.single} onChange={(single) => onChange({ ...settings, single })}>
        The source is one object
      </Checkbox>
      <TextField
        label={settings.single ? 'Destination path' : 'Destination prefix'}
        value={settings.destination}
        onChange={(destination) => onChange({ ...settings, destination })}
        mono
        error={refusalOf(settings.destination)}
        help="Empty means the top of the repository."
      />
      <TextField
        label="Commit message"
        value={settings.message}
        onChange={(message) => onChange({ ...settings, message })}
        placeholder={`Import ${settings.source || '…'}`}
      />
      <PairsField
        label="Commit metadata"
        pairs={settings.metadata}
        onChange={(metadata) => onChange({ ...settings, metadata })}
      />
    </>
  );
}

/** Why nothing is imported to a destination. */
function refusalOf(destination: string): string | undefined {
  return destination === '' || isPlainPath(destination)
    ? undefined
    : 'A destination has no empty, "." or ".." segment and no backslash: write folder/ or folder/name.';
}

function Next({
  repository,
  branch,
  onClose,
  running,
  refused,
}: {
  repository: string;
  branch: string;
  onClose: () => void;
  running: boolean;
  refused: string | undefined;
}) {
  const may = useMay('fs:CreateCommit', resource.branch(repository, branch));
  return (
    <DialogActions>
      <Button onPress={onClose}>Cancel</Button>
      <Button type="submit" kind="primary" refused={may.refused ?? refused}>
        {running ? 'Looking…' : 'Preview'}
      </Button>
    </DialogActions>
  );
}

const columns: Column<Previewed>[] = [
  { id: 'path', header: 'Path', width: 'minmax(200px, 3fr)', cell: (row) => <Name mono>{row.path}</Name> },
  {
    id: 'change',
    header: 'Change',
    width: '96px',
    cell: (row) => row.change && <Badge kind={row.change}>{row.change}</Badge>,
  },
  { id: 'size', header: 'Size', width: '96px', numeric: true, cell: (row) => <Bytes of={row.size_bytes} /> },
  {
    id: 'modified',
    header: 'Modified',
    width: '120px',
    wideOnly: true,
    cell: (row) => row.mtime && <Time at={row.mtime} />,
  },
];

/** How many objects that are at the destination go, or may go. */
function removable(preview: Schemas['ImportPreview']): number {
  return preview.removed ?? preview.at_destination;
}

/** Objects that change, those that are removed first, then the others of the source. */
function rowsOf(preview: Schemas['ImportPreview']): Previewed[] {
  const listed = new Map<string, Previewed>();
  const changes: [Change, string[] | undefined][] = [
    ['removed', preview.removed_paths],
    ['changed', preview.changed_paths],
    ['added', preview.added_paths],
  ];
  for (const [change, paths] of changes) for (const path of paths ?? []) listed.set(path, { path, change });
  for (const row of preview.results) listed.set(row.path, { ...row, ...listed.get(row.path) });
  return [...listed.values()];
}

function Preview({ preview, source }: { preview: Schemas['ImportPreview']; source: string }) {
  const bytesShown = preview.results.reduce((sum, row) => sum + row.size_bytes, 0);
  const rows = useMemo(() => rowsOf(preview), [preview]);
  return (
    <>
      <p>
        {preview.has_more ? (
          <>The first {count(preview.results.length)} objects of more</>
        ) : (
          counted(preview.results.length, 'object')
        )}
        , <Bytes of={bytesShown} />
        {preview.has_more ? ' so far' : ''}. Nothing has been imported yet.
      </p>
      {preview.names_object && (
        <p role="alert">
          <Name mono>{source}</Name> is the name of an object. To import it alone, go back and choose “The source is one
          object”.
        </p>
      )}
      {preview.also_matches && (
        <p role="alert">
          The source also matches <Name mono>{preview.also_matches}</Name>. To import a directory alone, go back and end
          the source with a slash.
        </p>
      )}
      {preview.at_destination > 0 && (
        <p role={removable(preview) > 0 ? 'alert' : undefined}>
          At the destination: {counted(preview.at_destination, 'object')}.{' '}
          {preview.removed === undefined || preview.changed === undefined
            ? 'Those that the source has too will be replaced, and all others removed.'
            : `${count(preview.removed)} will be removed, ${count(preview.changed)} changed, and ${count(preview.added ?? 0)} added.`}
        </p>
      )}
      <div style={{ display: 'flex', maxHeight: 360 }}>
        <DataTable
          label="Objects that the import changes"
          fill
          columns={columns}
          count={rows.length}
          row={(index) => rows[index]}
          rowKey={(row) => row.path}
          empty={<EmptyState icon="search">The source has no objects. Check its name, and the final slash.</EmptyState>}
        />
      </div>
    </>
  );
}

function Running({
  repository,
  branch,
  id,
  folder,
  onClose,
}: {
  repository: string;
  branch: string;
  id: string;
  /** Of the destination; undefined is the top. */
  folder: string | undefined;
  onClose: () => void;
}) {
  const navigate = useNavigate();
  const [cancelling, setCancelling] = useState<Error | 'asked' | null>(null);
  const status = useQuery({
    queryKey: ['import', repository, branch, id],
    queryFn: async ({ signal }) => {
      const now = await answer(
        api.GET('/repositories/{repository}/branches/{branch}/import', {
          params: { path: { repository, branch }, query: { id } },
          signal,
        }),
      );
      if (now.completed)
        for (const queryKey of [
          ['objects', repository],
          ['usage', repository],
          ['last-commit', repository],
          ['refs', repository],
        ])
          void queryClient.invalidateQueries({ queryKey });
      return now;
    },
    refetchInterval: (query) => (query.state.data?.completed || query.state.data?.error ? false : pollMs),
  });
  const now = status.data;
  const cancel = async () => {
    setCancelling('asked');
    try {
      await answer(
        api.DELETE('/repositories/{repository}/branches/{branch}/import', {
          params: { path: { repository, branch }, query: { id } },
        }),
      );
      await status.refetch();
    } catch (thrown) {
      setCancelling(asError(thrown));
    }
  };
  if (now?.error) {
    const cancelled = now.error.message === 'Canceled';
    return (
      <>
        {cancelled ? (
          <p role="status">The import was cancelled. Nothing was committed.</p>
        ) : (
          <ErrorPanel error={new ApiError(400, now.error.message, now.error.code ?? '', now.error.request_id ?? '')} />
        )}
        <DialogActions>
          <Button onPress={onClose}>Close</Button>
        </DialogActions>
      </>
    );
  }
  if (now?.completed) {
    return (
      <>
        <p role="status">
          {now.changed === false ? (
            'The branch has these very objects already; nothing was committed.'
          ) : (
            <>
              Imported {counted(now.ingested_objects ?? 0, 'object')} in commit{' '}
              <code>{now.commit?.id.slice(0, 12)}</code>
              {now.removed ? `; ${counted(now.removed, 'object')} of before removed` : ''}.
            </>
          )}
        </p>
        <DialogActions>
          <Button onPress={onClose}>Close</Button>
          <Button
            kind="primary"
            onPress={() => {
              onClose();
              void navigate({
                to: '/r/$repository/$ref/data',
                params: { repository, ref: branch },
                search: { path: folder },
              });
            }}
          >
            Show the data
          </Button>
        </DialogActions>
      </>
    );
  }
  return (
    <>
      {status.error && <ErrorPanel error={status.error} onRetry={() => void status.refetch()} />}
      <Progress label="Import">
        {counted(now?.ingested_objects ?? 0, 'object')} so far. It goes on when this dialog is closed.
      </Progress>
      {cancelling instanceof Error && <ErrorPanel error={cancelling} />}
      <DialogActions>
        <Button
          kind="danger"
          onPress={() => void cancel()}
          refused={cancelling === 'asked' ? 'The import is being cancelled' : undefined}
        >
          Cancel the import
        </Button>
        <Button onPress={onClose}>Close</Button>
      </DialogActions>
    </>
  );
}
