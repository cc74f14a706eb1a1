import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { answer, api } from '@/api/client';
import { resource, useMay } from '@/api/permissions';
import { queryClient } from '@/api/query_client';
import { useUser } from '@/api/session';
import { commitOfRefQuery } from '@/changes/diff_queries';
import { Button } from '@/ui/button';
import { ConfirmDialog, Dialog, FormDialog } from '@/ui/dialog';
import { Select, TextField } from '@/ui/field';
import { counted } from '@/ui/format';
import { ErrorPanel, Loaded } from '@/ui/states';
import { Badge, Name, Time } from '@/ui/text';
import { toast } from '@/ui/toast';
import { commentsQuery, type PullRequest } from './request_queries';
import { type Comment, numberIn, placeOf, type Thread, threadsOf } from './threads';
import styles from './requests.module.css';

const Markdown = lazy(() => import('@/preview/markdown').then((module) => ({ default: module.Markdown })));
/** Nothing that a relative link could be relative to. */
const noLinks = { link: () => undefined, image: () => undefined };

/** Text by users: as Markdown without HTML, links into the page and images. */
export function UserText({ text }: { text: string }) {
  return (
    <div className={styles.description}>
      <Suspense fallback={<p>{text}</p>}>
        <Markdown text={text} links={noLinks} />
      </Suspense>
    </div>
  );
}

interface Place {
  repository: string;
  request: PullRequest;
}

type NewComment = { body: string; path?: string; line?: number; row?: number; commit_id?: string; reply_to?: number };

/** Requests that change the comments of a pull request. */
function commentActions({ repository, request }: Place) {
  const path = { repository, pull_request: request.id };
  const changed = async (call: Promise<unknown>) => {
    await call;
    await queryClient.invalidateQueries({ queryKey: ['pulls', repository, 'comments', request.id] });
  };
  const of = (comment: Comment) => ({ path: { ...path, comment: comment.id } });
  return {
    add: (body: NewComment) =>
      changed(answer(api.POST('/repositories/{repository}/pulls/{pull_request}/comments', { params: { path }, body }))),
    change: (comment: Comment, body: { body?: string; resolved?: boolean }) =>
      changed(
        answer(
          api.PATCH('/repositories/{repository}/pulls/{pull_request}/comments/{comment}', {
            params: of(comment),
            body,
          }),
        ),
      ),
    remove: (comment: Comment) =>
      changed(
        answer(
          api.DELETE('/repositories/{repository}/pulls/{pull_request}/comments/{comment}', { params: of(comment) }),
        ),
      ),
  };
}

/** All threads of a request, and a field for a new one. */
export function Conversation({ repository, request }: Place) {
  const comments = useQuery(commentsQuery(repository, request.id));
  const { add } = commentActions({ repository, request });
  return (
    <section className={`panel stack-tight ${styles.wide}`} aria-label="Conversation">
      <h2>Conversation</h2>
      <Loaded query={comments} rows={2}>
        {(data) => <Threads repository={repository} request={request} threads={threadsOf(data)} />}
      </Loaded>
      <Compose repository={repository} label="Comment" onSave={(body) => add({ body })} />
    </section>
  );
}

function Threads({ threads, ...place }: Place & { threads: Thread[] }) {
  if (threads.length === 0) return <p className="muted">Nobody has commented yet.</p>;
  return (
    <ul className={styles.threads}>
      {threads.map((thread) => (
        <li key={thread.first.id} className={styles.thread} aria-label={`Thread ${thread.first.id}`}>
          <ThreadView {...place} thread={thread} />
        </li>
      ))}
    </ul>
  );
}

function ThreadView({ thread: { first, answers }, ...place }: Place & { thread: Thread }) {
  const mayWrite = useMay('pr:WritePullRequest', resource.repository(place.repository));
  const { add, change } = commentActions(place);
  const [isOpen, setOpen] = useState(false);
  const [isAnswering, setAnswering] = useState(false);
  const resolved = first.resolved_by !== undefined;
  const where = placeOf(first);
  return (
    <>
      <p className={styles.line}>
        {where !== '' && (
          <Link to="." search={{ tab: 'changes', object: first.path }}>
            <Name mono>{where}</Name>
          </Link>
        )}
        {first.outdated && <Badge kind="neutral">outdated</Badge>}
        {resolved && <Badge kind="added">resolved</Badge>}
        {resolved && <span className="muted">by {first.resolved_by}</span>}
        {resolved && (
          <Button kind="quiet" onPress={() => setOpen(!isOpen)}>
            {isOpen ? 'Hide' : `Show ${counted(1 + answers.length, 'comment')}`}
          </Button>
        )}
      </p>
      {(!resolved || isOpen) && (
        <>
          {[first, ...answers].map((comment) => (
            <CommentView key={comment.id} {...place} comment={comment} />
          ))}
          {isAnswering ? (
            <Compose
              repository={place.repository}
              label="Answer"
              onSave={async (body) => {
                await add({ body, reply_to: first.id });
                setAnswering(false);
              }}
              onCancel={() => setAnswering(false)}
            />
          ) : (
            <div className="toolbar">
              <Button refused={mayWrite.refused} onPress={() => setAnswering(true)}>
                Answer…
              </Button>
              <Button
                refused={mayWrite.refused}
                onPress={() =>
                  void change(first, { resolved: !resolved }).catch((error: Error) => toast(error.message))
                }
              >
                {resolved ? 'Open the thread again' : 'Resolve'}
              </Button>
            </div>
          )}
        </>
      )}
    </>
  );
}

function CommentView({ comment, ...place }: Place & { comment: Comment }) {
  const user = useUser();
  const { change, remove } = commentActions(place);
  const [mode, setMode] = useState<'edit' | 'delete' | null>(null);
  if (comment.deleted)
    return (
      <p className="muted">
        {comment.author} deleted this comment, <Time at={comment.creation_date} />.
      </p>
    );
  return (
    <article aria-label={`Comment ${comment.id}`}>
      <p className={styles.line}>
        <strong>{comment.author}</strong>{' '}
        <span className="muted">
          <Time at={comment.creation_date} />
          {comment.edited_date && ', edited'}
          {comment.commit_id && <> on {comment.commit_id.slice(0, 12)}</>}
        </span>
        {comment.author === user?.id && (
          <>
            <Button kind="quiet" icon="edit" onPress={() => setMode('edit')}>
              Edit
            </Button>
            <Button kind="quiet" icon="trash" onPress={() => setMode('delete')}>
              Delete…
            </Button>
          </>
        )}
      </p>
      {mode === 'edit' ? (
        <Compose
          repository={place.repository}
          label="Text"
          action="Save"
          initial={comment.body}
          onSave={async (body) => {
            await change(comment, { body });
            setMode(null);
          }}
          onCancel={() => setMode(null)}
        />
      ) : (
        <UserText text={comment.body} />
      )}
      {mode === 'delete' && (
        <ConfirmDialog
          title="Delete the comment?"
          action="Delete comment"
          isOpen
          onClose={() => setMode(null)}
          onConfirm={() => remove(comment)}
        >
          <p>Its text is removed for everybody. Answers to it stay.</p>
        </ConfirmDialog>
      )}
    </article>
  );
}

interface ComposeProps {
  repository: string;
  label: string;
  action?: string;
  initial?: string;
  onSave: (body: string) => Promise<void>;
  onCancel?: () => void;
}

/** A field for a text and the button that sends it. A failure keeps the text. */
function Compose({ repository, label, action = label, initial = '', onSave, onCancel }: ComposeProps) {
  const mayWrite = useMay('pr:WritePullRequest', resource.repository(repository));
  const [body, setBody] = useState(initial);
  const [error, setError] = useState<unknown>(null);
  const [running, setRunning] = useState(false);
  const save = async () => {
    setRunning(true);
    setError(null);
    try {
      await onSave(body);
      setBody('');
    } catch (thrown) {
      setError(thrown);
    } finally {
      setRunning(false);
    }
  };
  return (
    <div className="stack-tight">
      <TextField
        label={label}
        value={body}
        onChange={setBody}
        rows={3}
        help="Markdown. A name such as @ben is passed on to webhooks."
      />
      {error !== null && <ErrorPanel error={error} />}
      <div className="toolbar">
        <Button
          refused={mayWrite.refused ?? (body.trim() === '' ? 'Write something first' : undefined)}
          isDisabled={running}
          onPress={() => void save()}
        >
          {action}
        </Button>
        {onCancel && <Button onPress={onCancel}>Cancel</Button>}
      </div>
    </div>
  );
}

/** The comments on one object, beside its difference. */
export function ObjectComments({ path, ...place }: Place & { path: string }) {
  const comments = useQuery(commentsQuery(place.repository, place.request.id));
  const mayWrite = useMay('pr:WritePullRequest', resource.repository(place.repository));
  const [dialog, setDialog] = useState<'show' | 'add' | null>(null);
  const threads = threadsOf(comments.data ?? []).filter((thread) => thread.first.path === path);
  return (
    <>
      {threads.length > 0 && <Button onPress={() => setDialog('show')}>{counted(threads.length, 'thread')}</Button>}
      <Button icon="plus" refused={mayWrite.refused} onPress={() => setDialog('add')}>
        Comment…
      </Button>
      {dialog === 'show' && (
        <Dialog wide title={`Comments on ${path}`} isOpen onClose={() => setDialog(null)}>
          <Threads {...place} threads={threads} />
        </Dialog>
      )}
      {dialog === 'add' && <CommentOnObject {...place} path={path} onClose={() => setDialog(null)} />}
    </>
  );
}

function CommentOnObject({ path, onClose, ...place }: Place & { path: string; onClose: () => void }) {
  const { repository, request } = place;
  const seen = useQuery({
    ...commitOfRefQuery(repository, request.source_branch),
    enabled: request.merged_source_commit_id === undefined,
  });
  const commit = request.merged_source_commit_id ?? seen.data?.id;
  const { add } = commentActions(place);
  const [body, setBody] = useState('');
  const [kind, setKind] = useState<'line' | 'row'>('line');
  const [at, setAt] = useState('');
  const number = numberIn(at);
  return (
    <FormDialog
      title={`Comment on ${path}`}
      action="Comment"
      isOpen
      onClose={onClose}
      refused={
        body.trim() === ''
          ? 'Write something first'
          : number === null
            ? 'The number of a line or row is 1 or more'
            : commit === undefined
              ? 'The head of the branch is not known yet'
              : undefined
      }
      onSubmit={() =>
        add({ body, path, commit_id: commit!, ...(typeof number === 'number' ? { [kind]: number } : {}) })
      }
    >
      <TextField label="Comment" value={body} onChange={setBody} rows={5} required autoFocus />
      <div className="toolbar">
        <Select
          label="Place"
          value={kind}
          onChange={setKind}
          options={[
            { value: 'line', label: 'Line' },
            { value: 'row', label: 'Row of a table' },
          ]}
        />
        <TextField label="Number" value={at} onChange={setAt} type="number" help="Empty: the whole object" />
      </div>
    </FormDialog>
  );
}
