import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api, objectUrl } from '@/api/client';
import { authorOf } from '@/history/commit_facts';
import { Preview } from '@/preview/preview';
import { decodeText, readBytes } from '@/preview/object_bytes';
import { Button, buttonClass, IconButton } from '@/ui/button';
import { CopyAs, CopyButton, copyText } from '@/ui/copy_as';
import { exactBytes } from '@/ui/format';
import { Icon } from '@/ui/icon';
import { Menu, MenuItem, MenuSeparator } from '@/ui/menu';
import { objectSnippets } from '@/ui/snippets';
import { Loaded } from '@/ui/states';
import { Bytes, Name, Time } from '@/ui/text';
import { toast } from '@/ui/toast';
import { CopyObjects, DeleteObjects, EditMetadata, EditText, MoveObjects } from './object_dialogs';
import { type ObjectStats, shownOf, statQuery } from './object_queries';
import { nameOf } from './paths';
import styles from './object_panel.module.css';

const editedBytesMax = 256 * 1024;
const changesShown = 5;

interface ObjectPanelProps {
  repository: string;
  at: string;
  path: string;
  /** Why the ref cannot be changed. */
  refused: string | undefined;
  onClose: () => void;
  inDialog?: boolean;
  /** Whether nothing is beside it, and how to change that. */
  full?: boolean;
  onFull?: () => void;
}

/** Everything about one object: what is in it, what is known of it, who changed it. */
export function ObjectPanel({ repository, at, path, refused, onClose, inDialog, full, onFull }: ObjectPanelProps) {
  const stat = useQuery(statQuery(repository, at, path));
  return (
    <div className={styles.object}>
      {!inDialog && (
        <header className={styles.head}>
          <h2 className={styles.title}>
            <Name>{nameOf(path)}</Name>
          </h2>
          {onFull && (
            <Button kind="quiet" onPress={onFull}>
              {full ? 'Beside the list' : 'Full page'}
            </Button>
          )}
          <IconButton icon="close" label="Close details" onPress={onClose} />
        </header>
      )}
      <Loaded query={stat} rows={8}>
        {(object) => (
          <>
            <Actions repository={repository} at={at} object={object} refused={refused} onClose={onClose} />
            <div className={styles.preview}>
              <Preview shown={shownOf(repository, at, object)} />
            </div>
            <Details repository={repository} at={at} object={object} />
          </>
        )}
      </Loaded>
    </div>
  );
}

type Action = 'move' | 'copy' | 'delete' | 'metadata';

function Actions({
  repository,
  at,
  object,
  refused,
  onClose,
}: {
  repository: string;
  at: string;
  object: ObjectStats;
  refused: string | undefined;
  onClose: () => void;
}) {
  const [action, setAction] = useState<Action | null>(null);
  const [editing, setEditing] = useState<string | null>(null);
  const size = object.size_bytes ?? 0;
  const edit = async () => {
    const text = decodeText(await readBytes(shownOf(repository, at, object), 0, size), false);
    if (text === null) toast('This object is not text');
    else setEditing(text);
  };
  const presign = async () => {
    const signed = await answer(
      api.GET('/repositories/{repository}/refs/{ref}/objects/stat', {
        params: { path: { repository, ref: at }, query: { path: object.path, presign: true } },
      }),
    );
    await copyText(signed.physical_address);
  };
  const dialog = { repository, branch: at, items: [object], onClose: () => setAction(null) };
  return (
    <div className={styles.actions}>
      <a
        className={buttonClass('primary')}
        href={objectUrl(repository, at, object.path)}
        download={nameOf(object.path)}
      >
        <Icon name="download" />
        Download
      </a>
      <CopyAs snippets={objectSnippets(repository, at, object.path, location.origin)} />
      <Menu label="More" trigger={<Button icon="more">More</Button>}>
        <MenuItem
          icon="edit"
          onAction={() => void edit().catch((error: Error) => toast(error.message))}
          refused={refused ?? (size > editedBytesMax ? 'Larger than 256 KB' : undefined)}
        >
          Edit text…
        </MenuItem>
        <MenuItem icon="tag" onAction={() => setAction('metadata')} refused={refused}>
          Edit metadata…
        </MenuItem>
        <MenuItem icon="arrowRight" onAction={() => setAction('move')} refused={refused}>
          Rename or move…
        </MenuItem>
        <MenuItem icon="copy" onAction={() => setAction('copy')}>
          Copy…
        </MenuItem>
        <MenuItem
          icon="link"
          onAction={() => void presign().catch((error: Error) => toast(error.message))}
          detail="Valid for a while, without a login"
        >
          Copy presigned link
        </MenuItem>
        <MenuSeparator />
        <MenuItem icon="trash" danger onAction={() => setAction('delete')} refused={refused}>
          Delete…
        </MenuItem>
      </Menu>
      {action === 'move' && <MoveObjects {...dialog} onDone={onClose} />}
      {action === 'copy' && <CopyObjects {...dialog} onDone={() => undefined} />}
      {action === 'delete' && <DeleteObjects {...dialog} onDone={onClose} />}
      {action === 'metadata' && (
        <EditMetadata repository={repository} branch={at} object={object} onClose={() => setAction(null)} />
      )}
      {editing !== null && (
        <EditText
          repository={repository}
          branch={at}
          path={object.path}
          text={editing}
          etag={`"${object.checksum}"`}
          contentType={object.content_type ?? 'text/plain'}
          onClose={() => setEditing(null)}
        />
      )}
    </div>
  );
}

function Details({ repository, at, object }: { repository: string; at: string; object: ObjectStats }) {
  const metadata = Object.entries(object.metadata ?? {});
  return (
    <div className={styles.details}>
      <section className="stack-tight">
        <h3>Object</h3>
        <dl className="facts">
          <dt>Path</dt>
          <dd className="mono">
            {object.path} <CopyButton text={object.path} label="Copy path" />
          </dd>
          <dt>Size</dt>
          <dd>
            <Bytes of={object.size_bytes} />
            {(object.size_bytes ?? 0) >= 1000 && <span className="muted"> ({exactBytes(object.size_bytes ?? 0)})</span>}
          </dd>
          <dt>Modified</dt>
          <dd>
            <Time at={object.mtime} />
          </dd>
          <dt>Type</dt>
          <dd>{object.content_type ?? 'unknown'}</dd>
          <dt>Checksum</dt>
          <dd className="mono">
            {object.checksum} <CopyButton text={object.checksum} label="Copy checksum" />
          </dd>
          <dt>Stored at</dt>
          <dd className="mono">
            {object.physical_address}
            {object.stored_in_parts && ' and more parts'}
          </dd>
        </dl>
      </section>
      <section className="stack-tight">
        <h3>Metadata</h3>
        {metadata.length === 0 ? (
          <p className="muted">None.</p>
        ) : (
          <dl className="facts">
            {metadata.map(([key, value]) => (
              <Pair key={key} name={key} value={value} />
            ))}
          </dl>
        )}
      </section>
      <section className="stack-tight">
        <h3>History of this path</h3>
        <PathHistory repository={repository} at={at} path={object.path} />
      </section>
    </div>
  );
}

function Pair({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt className="mono">{name}</dt>
      <dd className="mono">{value}</dd>
    </>
  );
}

function PathHistory({ repository, at, path }: { repository: string; at: string; path: string }) {
  const log = useQuery({
    queryKey: ['log', repository, at, 'of', path],
    queryFn: ({ signal }) =>
      answer(
        api.GET('/repositories/{repository}/refs/{ref}/commits', {
          params: { path: { repository, ref: at }, query: { objects: [path], amount: changesShown, limit: true } },
          signal,
        }),
      ),
  });
  return (
    <Loaded query={log} rows={2}>
      {(commits) =>
        commits.results.length === 0 ? (
          <p className="muted">Not committed yet.</p>
        ) : (
          <ul className={styles.history}>
            {commits.results.map((commit) => (
              <li key={commit.id}>
                <Link to="/r/$repository/-/commits/$commit" params={{ repository, commit: commit.id }} className="mono">
                  {commit.id.slice(0, 12)}
                </Link>
                <span className={styles.message}>
                  <Name>{commit.message || 'no message'}</Name>
                </span>
                <span className="muted">{authorOf(commit)}</span>
                <span className="muted">
                  <Time at={commit.creation_date} />
                </span>
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}
