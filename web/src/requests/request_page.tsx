import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api } from '@/api/client';
import { permitted, resource, useMay } from '@/api/permissions';
import { queryClient } from '@/api/query_client';
import { CompareRefs } from '@/changes/compare_page';
import { DiffCounts } from '@/changes/diff_counts';
import { RunState } from '@/automation/run_state';
import { commitOfRefQuery, objectCount, type Sides, summaryQuery } from '@/changes/diff_queries';
import { MergeDialog } from '@/changes/merge_dialog';
import { useProtection } from '@/refs/protection';
import { branchQuery } from '@/refs/ref_queries';
import { Button } from '@/ui/button';
import { CopyAs } from '@/ui/copy_as';
import { ConfirmDialog, FormDialog } from '@/ui/dialog';
import { Checkbox, TextField } from '@/ui/field';
import { counted } from '@/ui/format';
import { Icon } from '@/ui/icon';
import { ErrorPanel, Loaded } from '@/ui/states';
import { Badge, Name, Time } from '@/ui/text';
import { toast } from '@/ui/toast';
import { Conversation, ObjectComments, UserText } from './comments';
import { type PullRequest, requestQuery, sourceIsMerged } from './request_queries';
import { StateBadge } from './requests_page';
import { Reviews, useReviews } from './reviews';
import styles from './requests.module.css';

const route = getRouteApi('/signed-in/r/$repository/-/requests/$request');
const commitsShown = 100;
const checksPollMs = 2000;

export function RequestPage() {
  const { repository, request } = route.useParams();
  const found = useQuery(requestQuery(repository, request));
  return (
    <div className={`page-full ${styles.page}`}>
      <Loaded
        query={found}
        rows={8}
        heading={
          <>
            Pull request <Name mono>{request}</Name>
          </>
        }
      >
        {(data) => <RequestView repository={repository} request={data} />}
      </Loaded>
    </div>
  );
}

type Dialog = 'merge' | 'edit' | 'close' | null;

function RequestView({ repository, request }: { repository: string; request: PullRequest }) {
  const search = route.useSearch();
  const navigate = useNavigate();
  const [dialog, setDialog] = useState<Dialog>(null);
  const mayWrite = useMay('pr:WritePullRequest', resource.repository(repository));
  const mayMerge = useMay('fs:CreateCommit', resource.branch(repository, request.destination_branch));
  const blocked = useProtection(repository, request.destination_branch).refusalOf('merge');
  const { isEnough } = useReviews(repository, request);
  const refused = mayWrite.refused ?? mayMerge.refused ?? blocked;
  const [deletesSource, setDeletesSource] = useState(false);
  const mayDelete = useMay('fs:DeleteBranch', resource.branch(repository, request.source_branch));
  const tab = search.tab ?? 'conversation';
  const isOpen = request.status === 'open';
  const left = request.merged_commit_id ? `${request.merged_commit_id}~1` : request.destination_branch;
  const right = request.merged_commit_id ?? request.source_branch;
  const params = { path: { repository, pull_request: request.id } };
  const update = async (body: { status?: 'open' | 'closed' | 'merged'; title?: string; description?: string }) => {
    await answer(api.PATCH('/repositories/{repository}/pulls/{pull_request}', { params, body }));
    await queryClient.invalidateQueries({ queryKey: ['pulls', repository] });
  };
  const branch = (name: string) => (
    <Link to="/r/$repository/$ref/data" params={{ repository, ref: name }} search={{}} className={styles.branch}>
      <Name>{name}</Name>
    </Link>
  );
  return (
    <>
      <div className="page-head">
        <h1>
          <span className="muted">#{request.number}</span> {request.title || 'no title'}
        </h1>
        <StateBadge status={request.status} />
        <span className="grow" />
        <div className="toolbar">
          <CopyAs
            snippets={[
              { label: 'tarn pr show', text: `tarn pr show tarn://${repository}/${request.number}` },
              { label: 'tarn pr merge', text: `tarn pr merge tarn://${repository}/${request.number}` },
            ]}
          />
          <Button icon="edit" refused={mayWrite.refused} onPress={() => setDialog('edit')}>
            Edit…
          </Button>
          {isOpen && (
            <Button refused={mayWrite.refused} onPress={() => setDialog('close')}>
              Close…
            </Button>
          )}
          {request.status === 'closed' && (
            <Button
              refused={mayWrite.refused}
              onPress={() => void update({ status: 'open' }).catch((error: Error) => toast(error.message))}
            >
              Open again
            </Button>
          )}
          {isOpen && (
            <Button
              kind={isEnough && refused === undefined ? 'primary' : 'plain'}
              refused={refused}
              onPress={() => setDialog('merge')}
            >
              Merge into {request.destination_branch}…
            </Button>
          )}
          <DeleteSource repository={repository} request={request} refused={mayDelete.refused} />
        </div>
      </div>
      <p className={styles.line}>
        {request.author} asks to merge {branch(request.source_branch)} into {branch(request.destination_branch)}{' '}
        <span className="muted">
          opened <Time at={request.creation_date} />
        </span>
        {request.closed_date && (
          <>
            ; {request.status} <Time at={request.closed_date} />
          </>
        )}
      </p>
      <nav aria-label="Parts of the request" className={styles.tabs}>
        {(['conversation', 'changes', 'commits'] as const).map((name) => (
          <Link
            key={name}
            to="."
            search={{ tab: name === 'conversation' ? undefined : name }}
            className={`${styles.tab} ${name === tab ? styles.tabCurrent : ''}`}
            aria-current={name === tab ? 'page' : undefined}
          >
            {{ conversation: 'Overview', changes: 'Changes', commits: 'Commits' }[name]}
          </Link>
        ))}
      </nav>
      {tab === 'changes' ? (
        <CompareRefs
          repository={repository}
          left={left}
          right={right}
          type={request.merged_commit_id ? 'two_dot' : 'three_dot'}
          place={search}
          onPlace={(place) => void navigate({ to: '.', search: { tab: 'changes', ...place } })}
          objectActions={(path) => <ObjectComments repository={repository} request={request} path={path} />}
        />
      ) : tab === 'commits' ? (
        <Commits repository={repository} request={request} />
      ) : (
        <Overview repository={repository} request={request} left={left} right={right} />
      )}
      {dialog === 'merge' && (
        <MergeDialog
          repository={repository}
          source={request.source_branch}
          destination={request.destination_branch}
          onClose={() => setDialog(null)}
          more={
            mayDelete.allowed && (
              <Checkbox
                checked={deletesSource}
                onChange={setDeletesSource}
                help="The branch stays if it has moved, has uncommitted changes or is used elsewhere."
              >
                Delete {request.source_branch} afterwards
              </Checkbox>
            )
          }
          onMerge={async (terms) => {
            const merged = await answer(
              api.PUT('/repositories/{repository}/pulls/{pull_request}/merge', {
                params,
                body: {
                  message: terms.message,
                  metadata: terms.metadata,
                  strategy: terms.strategy,
                  squash_merge: terms.squash,
                  resolutions: terms.resolutions,
                  force: false,
                  allow_empty: false,
                  allow_dirty: false,
                  delete_source_branch: deletesSource && mayDelete.allowed,
                },
              }),
            );
            if (merged.source_branch_kept) toast(`${request.source_branch} stays: ${merged.source_branch_kept}`);
          }}
        />
      )}
      {dialog === 'edit' && <EditRequest request={request} onClose={() => setDialog(null)} onSave={update} />}
      {dialog === 'close' && (
        <ConfirmDialog
          title="Close the request?"
          action="Close request"
          isOpen
          onClose={() => setDialog(null)}
          onConfirm={() => update({ status: 'closed' })}
        >
          <p>Nothing is merged, and both branches stay as they are. It can be opened again.</p>
        </ConfirmDialog>
      )}
    </>
  );
}

/** Deletes the branch that was merged, if its head is still that. */
function DeleteSource({
  repository,
  request,
  refused,
}: {
  repository: string;
  request: PullRequest;
  refused: string | undefined;
}) {
  const source = useQuery({
    ...branchQuery(repository, request.source_branch),
    enabled: request.status === 'merged',
  });
  const [isOpen, setOpen] = useState(false);
  const branch = request.source_branch;
  if (!sourceIsMerged(request, source.data?.commit_id)) return null;
  return (
    <>
      <Button icon="trash" refused={refused} onPress={() => setOpen(true)}>
        Delete {branch}…
      </Button>
      {isOpen && (
        <ConfirmDialog
          title={`Delete ${branch}?`}
          action="Delete branch"
          isOpen
          onClose={() => setOpen(false)}
          onConfirm={async () => {
            await answer(
              api.DELETE('/repositories/{repository}/branches/{branch}', {
                params: { path: { repository, branch }, query: { expect: source.data!.commit_id, unused: true } },
              }),
            );
            for (const name of ['refs', 'branch', 'pulls'])
              void queryClient.invalidateQueries({ queryKey: [name, repository] });
          }}
        >
          <p>All that it has is merged into {request.destination_branch}.</p>
        </ConfirmDialog>
      )}
    </>
  );
}

function Overview({
  repository,
  request,
  left,
  right,
}: {
  repository: string;
  request: PullRequest;
  left: string;
  right: string;
}) {
  const sides: Sides = {
    repository,
    left,
    right,
    type: request.merged_commit_id ? 'two_dot' : 'three_dot',
    readLeft: left,
    readRight: right,
  };
  const summary = useQuery(summaryQuery(sides, ''));
  return (
    <div className={styles.overview}>
      <section className="panel stack-tight" aria-label="Description">
        <h2>Description</h2>
        {request.description ? (
          <UserText text={request.description} />
        ) : (
          <p className="muted">There is no description.</p>
        )}
      </section>
      <section className="panel stack-tight" aria-label="Changes">
        <h2>Changes</h2>
        <Loaded query={summary} rows={2}>
          {(data) => (
            <>
              <p>
                {counted(objectCount(data), 'object')} <DiffCounts of={data} />
              </p>
              {request.status === 'open' && data.conflicts > 0 && (
                <p>
                  <Badge kind="waiting">{counted(data.conflicts, 'conflict')}</Badge> to settle when it is merged
                </p>
              )}
              <Link to="." search={{ tab: 'changes' }}>
                Review the changes
              </Link>
            </>
          )}
        </Loaded>
      </section>
      <Reviews repository={repository} request={request} />
      <Checks repository={repository} request={request} />
      <Conversation repository={repository} request={request} />
    </div>
  );
}

/** Hook runs of the source's head, and of the merge. */
function Checks({ repository, request }: { repository: string; request: PullRequest }) {
  const head = useQuery(commitOfRefQuery(repository, request.merged_commit_id ?? request.source_branch));
  const runs = useQuery({
    queryKey: ['hook-runs', repository, head.data?.id],
    enabled: head.data !== undefined,
    queryFn: ({ signal }) =>
      permitted('ci:ReadAction', resource.repository(repository), () =>
        answer(
          api.GET('/repositories/{repository}/actions/runs', {
            params: { path: { repository }, query: { commit: head.data!.id, amount: 50, running: true } },
            signal,
          }),
        ),
      ),
    refetchInterval: (query) =>
      query.state.data?.results.some((run) => run.end_time === undefined) ? checksPollMs : false,
  });
  return (
    <section className="panel stack-tight" aria-label="Checks">
      <h2>Checks</h2>
      {head.error ? (
        <ErrorPanel error={head.error} />
      ) : (
        <Loaded query={runs} rows={1}>
          {(data) =>
            data.results.length === 0 ? (
              <p className="muted">No hook has run on commit {head.data?.id.slice(0, 12)}.</p>
            ) : (
              <ul className={styles.list}>
                {data.results.map((run) => (
                  <li key={run.run_id}>
                    <RunState of={run} />{' '}
                    <Link to="/r/$repository/-/automation/runs/$run" params={{ repository, run: run.run_id }}>
                      {run.event_type}
                    </Link>{' '}
                    <Time at={run.start_time} />
                  </li>
                ))}
              </ul>
            )
          }
        </Loaded>
      )}
    </section>
  );
}

function Commits({ repository, request }: { repository: string; request: PullRequest }) {
  const ref = request.merged_commit_id ?? request.source_branch;
  const without = request.merged_commit_id ? `${request.merged_commit_id}~1` : request.destination_branch;
  const log = useQuery({
    queryKey: ['log', repository, ref, 'without', without],
    queryFn: ({ signal }) =>
      answer(
        api.GET('/repositories/{repository}/refs/{ref}/commits', {
          params: { path: { repository, ref }, query: { without, amount: commitsShown } },
          signal,
        }),
      ),
  });
  return (
    <Loaded query={log} rows={4}>
      {(data) =>
        data.results.length === 0 ? (
          <p className="muted">It has no commits that {request.destination_branch} lacks.</p>
        ) : (
          <ul className={styles.list}>
            {data.results.map((commit) => (
              <li key={commit.id}>
                <Icon name="commit" />{' '}
                <Link to="/r/$repository/-/commits/$commit" params={{ repository, commit: commit.id }} search={{}}>
                  {commit.message.split('\n', 1)[0] || 'no message'}
                </Link>{' '}
                <span className="muted">
                  {commit.committer}, <Time at={commit.creation_date} />
                </span>
              </li>
            ))}
            {data.pagination.has_more && <li className="muted">and older ones</li>}
          </ul>
        )
      }
    </Loaded>
  );
}

function EditRequest({
  request,
  onClose,
  onSave,
}: {
  request: PullRequest;
  onClose: () => void;
  onSave: (body: { title: string; description: string }) => Promise<void>;
}) {
  const [title, setTitle] = useState(request.title);
  const [description, setDescription] = useState(request.description);
  return (
    <FormDialog
      title="Edit the request"
      action="Save"
      isOpen
      onClose={onClose}
      refused={title.trim() === '' ? 'Enter a title' : undefined}
      onSubmit={() => onSave({ title, description })}
    >
      <TextField label="Title" value={title} onChange={setTitle} required autoFocus />
      <TextField label="Description" value={description} onChange={setDescription} rows={6} />
    </FormDialog>
  );
}
