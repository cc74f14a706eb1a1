import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useEffect, useMemo, useRef, useState } from 'react';
import { resource, useMay } from '@/api/permissions';
import { useShortcuts } from '@/app/shortcuts';
import { useRepository } from '@/app/use_repository';
import { useProtection } from '@/refs/protection';
import { CreateRef } from '@/refs/ref_dialogs';
import { branchQuery } from '@/refs/ref_queries';
import { Button, buttonClass } from '@/ui/button';
import { copyText } from '@/ui/copy_as';
import { type Column, DataTable, useNarrow } from '@/ui/data_table';
import { Dialog } from '@/ui/dialog';
import { TextField } from '@/ui/field';
import { bytes, count, counted } from '@/ui/format';
import { Icon } from '@/ui/icon';
import { Menu, MenuItem, MenuSeparator } from '@/ui/menu';
import { usePagedRows } from '@/ui/paged_rows';
import { RefPicker } from '@/ui/ref_picker';
import { RowLink } from '@/ui/row_link';
import { s3Uri, tarnUri } from '@/ui/snippets';
import { Splitter, useShare } from '@/ui/split';
import { EmptyState, ErrorPanel, Skeleton } from '@/ui/states';
import { Bytes, Name, Time } from '@/ui/text';
import { toast } from '@/ui/toast';
import { UncommittedBar } from '@/changes/uncommitted_bar';
import { ImportWizard } from '@/repositories/import_wizard';
import { downloadArchive } from './download';
import { branchChanged, CopyObjects, DeleteObjects, EditText, MoveObjects } from './object_dialogs';
import { ObjectPanel } from './object_panel';
import { type FolderSizes, folderSizesQuery, lastPageOf, listFolder, sizedFoldersMax } from './folder_queries';
import { type ObjectStats, objectsKey } from './object_queries';
import { crumbs, nameOf } from './paths';
import { Readme, useReadme } from './readme';
import { UploadPanel } from './upload_panel';
import { droppedFiles, UploadQueue } from './upload_queue';
import styles from './data_page.module.css';

type Action = 'move' | 'copy' | 'delete';

const route = getRouteApi('/signed-in/r/$repository/$ref/data');
// A queue goes on while one looks at other pages.
const queues = new Map<string, UploadQueue>();

function queueOf(repository: string, branch: string): UploadQueue {
  const key = `${repository}/${branch}`;
  let queue = queues.get(key);
  if (!queue) {
    queue = new UploadQueue(repository, branch);
    queue.onArrived = () => branchChanged(repository, branch);
    queues.set(key, queue);
  }
  return queue;
}

/** Whether the ref can be written to, and why not. */
function useWritable(repository: string, ref: string) {
  const branch = useQuery(branchQuery(repository, ref));
  const loaded = useRepository(repository);
  const may = useMay('fs:WriteObject', resource.object(repository, '*'));
  if (branch.data === null) return { isBranch: false, refused: 'Only branches can be changed: choose one first' };
  if (loaded?.read_only) return { isBranch: true, refused: 'The repository is read-only' };
  return { isBranch: branch.data !== undefined, refused: may.refused };
}

export function DataPage() {
  const { repository, ref } = route.useParams();
  const search = route.useSearch();
  const path = search.path ?? '';
  const navigate = useNavigate({ from: '/r/$repository/$ref/data' });
  const narrow = useNarrow();
  const { isBranch, refused: refusedHere } = useWritable(repository, ref);
  const protection = useProtection(repository, ref);
  const blocked = isBranch && !refusedHere ? protection.refusalOf('stage') : undefined;
  const refused = refusedHere ?? blocked;
  const [branching, setBranching] = useState(false);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [action, setAction] = useState<{ kind: Action; items: ObjectStats[] } | null>(null);
  const [creating, setCreating] = useState(false);
  const [importing, setImporting] = useState(false);
  const [over, setOver] = useState(false);
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const queue = useMemo(() => queueOf(repository, ref), [repository, ref]);
  useEffect(() => setSelected(new Set()), [repository, ref, path]);
  useEffect(() => folder.current?.setAttribute('webkitdirectory', ''), []);

  const sorting = useMemo(
    () => (search.sort ? { by: search.sort, descending: search.descending === true } : undefined),
    [search.sort, search.descending],
  );
  const from = sorting ? undefined : search.from;
  const rows = usePagedRows<ObjectStats>(
    [...objectsKey(repository, ref), 'children', path, from ?? '', sorting ?? null],
    (after, signal) => listFolder(repository, ref, path, sorting, after || (from ?? ''), signal),
  );
  const sizes = useQuery(folderSizesQuery(repository, ref, path)).data;
  /** A key that left the rows that were known; the table stays, with its focus, until the others are here. */
  const [jump, setJump] = useState<'start' | 'end' | null>(null);
  useEffect(() => setJump(null), [repository, ref, path]);
  const showEnd = () => {
    setJump('end');
    void lastPageOf(repository, ref, path)
      .then((last) => {
        if (last === undefined) toast('The end of this folder was not found in time');
        else void navigate({ search: { ...search, from: last } });
      })
      .catch((error: Error) => toast(error.message));
  };
  const showStart = () => {
    setJump('start');
    void navigate({ search: { ...search, from: undefined } });
  };
  const readme = useReadme(repository, ref, path);
  const seen = useRef(new Map<string, ObjectStats>());
  const row = (index: number) => {
    const item = rows.row(index);
    if (item) seen.current.set(item.path, item);
    return item;
  };
  const chosen = [...selected].map((key) => seen.current.get(key)).filter((item) => item !== undefined);
  const open = (item: ObjectStats) =>
    void navigate({
      search:
        item.path_type === 'common_prefix'
          ? { path: item.path, into: search.into, sort: search.sort, descending: search.descending }
          : { ...search, object: item.path },
    });
  const close = () => void navigate({ search: { ...search, object: undefined, full: undefined } });
  const full = search.full === true && search.object !== undefined && !narrow;
  const [share, setShare] = useShare('details', 46);
  // Wherever the focus is: a link that opened the object has it, or nothing has.
  useShortcuts(
    search.object === undefined || narrow ? [] : [{ keys: 'Escape', does: 'close the details', run: close }],
  );
  const add = (list: Iterable<{ path: string; file: File }>) =>
    queue.add([...list].map(({ path: name, file }) => ({ path: path + name, file })));
  const latestOpen = useRef(open);
  latestOpen.current = open;
  const page = `/r/${encodeURIComponent(repository)}/${encodeURIComponent(ref)}/data`;
  const columns = useMemo(
    (): Column<ObjectStats>[] => [
      {
        id: 'name',
        header: 'Name',
        sort: 'path',
        width: 'minmax(160px, 3fr)',
        cell: (item) => (
          <>
            <Icon name={item.path_type === 'common_prefix' ? 'folder' : 'file'} />
            <RowLink
              path={page}
              search={{
                ...(item.path_type === 'common_prefix'
                  ? { path: item.path }
                  : { path, object: item.path, from: search.from }),
                into: search.into,
                sort: search.sort,
                descending: search.descending,
              }}
              onOpen={() => latestOpen.current(item)}
              className={styles.name}
            >
              <Name>{nameOf(item.path)}</Name>
            </RowLink>
          </>
        ),
      },
      {
        id: 'size',
        header: 'Size',
        width: '80px',
        numeric: true,
        sort: 'size',
        cell: (item) => (
          <Bytes of={item.path_type === 'object' ? item.size_bytes : sizes?.folders.get(item.path)?.bytes} />
        ),
      },
      {
        id: 'modified',
        header: 'Modified',
        sort: 'modified',
        width: '112px',
        wideOnly: true,
        cell: (item) => (item.path_type === 'object' ? <Time at={item.mtime} /> : null),
      },
      ...(search.object
        ? []
        : [
            {
              id: 'type',
              header: 'Type',
              width: 'minmax(80px, 1fr)',
              wideOnly: true,
              cell: (item: ObjectStats) => (
                <span className={`muted ${styles.name}`}>
                  <Name>
                    {item.path_type === 'object' ? (item.content_type ?? '') : objectsIn(sizes?.folders, item.path)}
                  </Name>
                </span>
              ),
            },
            {
              id: 'metadata',
              header: 'Metadata',
              width: 'minmax(80px, 1fr)',
              wideOnly: true,
              cell: (item: ObjectStats) => <Metadata of={item} />,
            },
          ]),
    ],
    [path, page, search.object, search.into, search.from, search.sort, search.descending, sizes],
  );

  return (
    <div
      className={`page-full ${styles.page}`}
      onDragOver={(event) => {
        if (isBranch && !refused && event.dataTransfer.types.includes('Files')) {
          event.preventDefault();
          setOver(true);
        }
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
      }}
      onDrop={(event) => {
        if (refused) return;
        event.preventDefault();
        setOver(false);
        void droppedFiles(event.dataTransfer).then(add);
      }}
    >
      <h1 className="visually-hidden">
        Data of {repository} at {ref}
      </h1>
      <div className="page-head">
        <RefPicker
          repository={repository}
          value={ref}
          label="Ref"
          onChange={(next) =>
            void navigate({
              to: '/r/$repository/$ref/data',
              params: { repository, ref: next },
              search: { path: search.path },
            })
          }
        />
        <Breadcrumb prefix={path} />
        {sizes?.total && (
          <span className="muted">
            {counted(sizes.total.objects, 'object')}, {bytes(sizes.total.bytes)}
          </span>
        )}
        <span className="grow" />
        <SearchField repository={repository} at={ref} prefix={path} />
        {selected.size === 0 ? (
          <div className="toolbar">
            <Menu
              label="Upload"
              trigger={
                <Button icon="upload" refused={refusedHere}>
                  Upload
                </Button>
              }
            >
              <MenuItem icon="file" refused={blocked} onAction={() => files.current?.click()}>
                Files…
              </MenuItem>
              <MenuItem icon="folder" refused={blocked} onAction={() => folder.current?.click()}>
                Folder…
              </MenuItem>
              <MenuItem icon="edit" refused={blocked} onAction={() => setCreating(true)}>
                New text object…
              </MenuItem>
              <MenuItem
                icon="download"
                detail="By reference, from a bucket or directory"
                refused={protection.refusalOf('import')}
                onAction={() => setImporting(true)}
              >
                Import…
              </MenuItem>
            </Menu>
            <Menu label="Download" trigger={<Button icon="download">Download</Button>}>
              <MenuItem
                detail={`Everything below ${path || 'the top'}`}
                href={archiveUrl(repository, ref, path, 'zip')}
                target="_self"
              >
                As zip
              </MenuItem>
              <MenuItem href={archiveUrl(repository, ref, path, 'tar')} target="_self">
                As tar
              </MenuItem>
              <MenuSeparator />
              <MenuItem icon="copy" onAction={() => void copyText(tarnUri(repository, ref, path))}>
                Copy tarn URI
              </MenuItem>
              <MenuItem icon="copy" onAction={() => void copyText(s3Uri(repository, ref, path))}>
                Copy S3 URI
              </MenuItem>
              <MenuItem
                icon="plug"
                onAction={() =>
                  void navigate({ to: '/connect', search: { repository, ...(isBranch ? { branch: ref } : {}) } })
                }
              >
                Connect a client…
              </MenuItem>
            </Menu>
          </div>
        ) : (
          <div className="toolbar" role="group" aria-label="Selection">
            <span>{counted(selected.size, 'item')}</span>
            <Button
              icon="download"
              onPress={() =>
                void downloadArchive(repository, ref, chosen).catch((error: Error) => toast(error.message))
              }
            >
              Download
            </Button>
            <Button onPress={() => setAction({ kind: 'move', items: chosen })} refused={refused}>
              Move…
            </Button>
            <Button onPress={() => setAction({ kind: 'copy', items: chosen })}>Copy…</Button>
            <Button
              kind="danger"
              icon="trash"
              onPress={() => setAction({ kind: 'delete', items: chosen })}
              refused={refused}
            >
              Delete…
            </Button>
            <Button kind="quiet" onPress={() => setSelected(new Set())}>
              Clear
            </Button>
          </div>
        )}
        <input
          ref={files}
          type="file"
          multiple
          hidden
          aria-label="Files to upload"
          onChange={(event) => {
            add([...(event.target.files ?? [])].map((file) => ({ path: file.name, file })));
            event.target.value = '';
          }}
        />
        <input
          ref={folder}
          type="file"
          multiple
          hidden
          aria-label="Folder to upload"
          onChange={(event) => {
            add([...(event.target.files ?? [])].map((file) => ({ path: file.webkitRelativePath || file.name, file })));
            event.target.value = '';
          }}
        />
      </div>
      {blocked !== undefined && (
        <div className={styles.note} role="note">
          <Icon name="info" />
          <span>
            {blocked}.{' '}
            {protection.gate === undefined
              ? 'Upload to a new branch, then open a pull request.'
              : 'Upload to a new branch, then promote it.'}
          </span>
          <Button icon="branch" onPress={() => setBranching(true)}>
            Upload to a new branch…
          </Button>
        </div>
      )}
      {search.into !== undefined && search.into !== ref && (
        <ChangesFor repository={repository} branch={ref} into={search.into} />
      )}
      {from !== undefined && (
        <div className={styles.note} role="note">
          <Icon name="info" />
          <span>
            The list begins behind <Name mono>{from.slice(path.length)}</Name>
          </span>
          <Button onPress={showStart}>Show from the start</Button>
        </div>
      )}
      {sorting && sizes?.hasMore && (
        <div className={styles.note} role="note">
          <Icon name="info" />
          <span>
            Of the folders the first {count(sizedFoldersMax)} by name are in this order; the others are not shown.
          </span>
        </div>
      )}
      <div className={styles.body}>
        {full ? null : rows.error && rows.count === 0 ? (
          <div className="grow">
            <ErrorPanel error={rows.error} onRetry={rows.retry} />
          </div>
        ) : rows.isLoading && jump === null ? (
          <Skeleton rows={8} />
        ) : (
          <div className={readme ? styles.listWithReadme : styles.list}>
            <DataTable
              label="Objects"
              fill={readme === null}
              columns={columns}
              count={rows.count}
              row={row}
              rowKey={keyOf}
              onRange={rows.onRange}
              activeKey={search.object}
              selected={selected}
              onSelect={setSelected}
              onOpen={open}
              sorting={sorting ?? { by: 'path', descending: false }}
              onSort={(next) =>
                void navigate({
                  search: {
                    ...search,
                    from: undefined,
                    ...(next.by === 'path' && !next.descending
                      ? { sort: undefined, descending: undefined }
                      : { sort: next.by as 'path', descending: next.descending || undefined }),
                  },
                })
              }
              onHome={from === undefined ? undefined : showStart}
              onEnd={sorting || rows.ended ? undefined : showEnd}
              shows={
                jump === (from === undefined ? 'start' : 'end') && (jump === 'start' || rows.ended) ? jump : undefined
              }
              empty={
                rows.isLoading ? undefined : (
                  <EmptyState
                    icon="folder"
                    command={`tarn fs upload FILE ${tarnUri(repository, ref, path)}`}
                    action={
                      isBranch ? (
                        <Button icon="upload" refused={refused} onPress={() => files.current?.click()}>
                          Upload files
                        </Button>
                      ) : (
                        <Link to="/r/$repository" params={{ repository }} className={buttonClass()}>
                          Go to the default branch
                        </Link>
                      )
                    }
                  >
                    {path ? 'There is nothing in this folder.' : 'There are no objects here yet.'}{' '}
                    {isBranch && !refused && 'Drop files or folders onto this page.'}
                  </EmptyState>
                )
              }
            />
            {readme && <Readme repository={repository} at={ref} object={readme} />}
          </div>
        )}
        {search.object !== undefined && !narrow && !full && (
          <Splitter label="Width of the details" share={share} onShare={setShare} />
        )}
        {search.object !== undefined && !narrow && (
          <aside className={styles.panel} style={{ flexBasis: full ? '100%' : `${share}%` }} aria-label="Details">
            <ObjectPanel
              key={`${ref}/${search.object}`}
              repository={repository}
              at={ref}
              path={search.object}
              refused={refused}
              onClose={close}
              full={full}
              onFull={() => void navigate({ search: { ...search, full: full ? undefined : true } })}
            />
          </aside>
        )}
      </div>
      {search.object !== undefined && narrow && (
        <Dialog title={nameOf(search.object)} isOpen onClose={close} side flush>
          <ObjectPanel
            key={`${ref}/${search.object}`}
            repository={repository}
            at={ref}
            path={search.object}
            refused={refused}
            onClose={close}
            inDialog
          />
        </Dialog>
      )}
      {isBranch && <UploadPanel queue={queue} />}
      {isBranch && <UncommittedBar repository={repository} branch={ref} />}
      {over && (
        <div className={styles.drop}>
          <p>
            Drop to upload to {ref}/{path}
          </p>
        </div>
      )}
      {action?.kind === 'delete' && (
        <DeleteObjects
          repository={repository}
          branch={ref}
          items={action.items}
          onClose={() => setAction(null)}
          onDone={() => setSelected(new Set())}
        />
      )}
      {action?.kind === 'move' && (
        <MoveObjects
          repository={repository}
          branch={ref}
          items={action.items}
          onClose={() => setAction(null)}
          onDone={() => setSelected(new Set())}
        />
      )}
      {action?.kind === 'copy' && (
        <CopyObjects
          repository={repository}
          branch={ref}
          items={action.items}
          onClose={() => setAction(null)}
          onDone={() => setSelected(new Set())}
        />
      )}
      {creating && (
        <EditText
          repository={repository}
          branch={ref}
          path={path}
          text=""
          contentType="text/plain"
          onClose={() => setCreating(false)}
          onDone={(object) => void navigate({ search: { ...search, object } })}
        />
      )}
      {branching && (
        <CreateRef
          repository={repository}
          kind="branch"
          source={ref}
          onClose={() => setBranching(false)}
          onCreated={(kind, name) => {
            if (kind === 'branch')
              void navigate({
                to: '/r/$repository/$ref/data',
                params: { repository, ref: name },
                search: { path: search.path, into: ref },
              });
          }}
        />
      )}
      {importing && (
        <ImportWizard repository={repository} branch={ref} destination={path} onClose={() => setImporting(false)} />
      )}
    </div>
  );
}

/** On a branch that was made for changes of a protected one: the way back to it. */
function ChangesFor({ repository, branch, into }: { repository: string; branch: string; into: string }) {
  const { gate } = useProtection(repository, into);
  return (
    <div className={styles.note} role="note">
      <Icon name="branch" />
      <span>
        Changes here are for <strong>{into}</strong>: upload and commit them first.
      </span>
      {gate === undefined ? (
        <Link
          to="/r/$repository/-/requests"
          params={{ repository }}
          search={{ create: true, source: branch, destination: into }}
          className={buttonClass()}
        >
          Open a pull request
        </Link>
      ) : (
        <Link
          to="/r/$repository/-/gates/$policy"
          params={{ repository, policy: gate }}
          search={{ candidates: branch }}
          className={buttonClass()}
        >
          Judge it by {gate}
        </Link>
      )}
    </div>
  );
}

function objectsIn(sizes: FolderSizes | undefined, path: string): string {
  const found = sizes?.get(path);
  return found ? counted(found.objects, 'object') : '';
}

function keyOf(item: ObjectStats): string {
  return item.path;
}

function archiveUrl(repository: string, ref: string, prefix: string, format: 'zip' | 'tar') {
  const objects = `/api/v1/repositories/${encodeURIComponent(repository)}/refs/${encodeURIComponent(ref)}/objects`;
  return `${objects}/archive?format=${format}&prefix=${encodeURIComponent(prefix)}`;
}

function Metadata({ of }: { of: ObjectStats }) {
  const pairs = Object.entries(of.metadata ?? {});
  if (pairs.length === 0) return null;
  const text = pairs.map(([key, value]) => `${key}=${value}`).join(' ');
  return (
    <span className={`muted ${styles.metadata}`} title={text}>
      {text}
    </span>
  );
}

function Breadcrumb({ prefix }: { prefix: string }) {
  const { repository } = route.useParams();
  return (
    <nav aria-label="Folder" className={styles.crumbs}>
      <Link to="." search={{}}>
        <Name>{repository}</Name>
      </Link>
      {crumbs(prefix).map((crumb, index, all) => (
        <span key={crumb.prefix} className={styles.crumb}>
          <span aria-hidden="true" className="muted">
            /
          </span>
          <Link to="." search={{ path: crumb.prefix }} aria-current={index === all.length - 1 ? 'location' : undefined}>
            <Name>{crumb.label}</Name>
          </Link>
        </span>
      ))}
    </nav>
  );
}

function SearchField({ repository, at, prefix }: { repository: string; at: string; prefix: string }) {
  const navigate = useNavigate();
  const [text, setText] = useState('');
  return (
    <form
      role="search"
      className={styles.search}
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() === '') return;
        const glob = /[*?[{]/.test(text) ? text.trim() : `**${text.trim()}**`;
        void navigate({
          to: '/r/$repository/$ref/search',
          params: { repository, ref: at },
          search: { glob, prefix: prefix || undefined },
        });
      }}
    >
      <TextField
        label="Search paths"
        hideLabel
        type="search"
        placeholder="Search paths: cat, **/*.png"
        value={text}
        onChange={setText}
      />
    </form>
  );
}
