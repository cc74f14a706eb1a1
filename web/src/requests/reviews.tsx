import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer, api, type Schemas } from '@/api/client';
import { resource, useMay } from '@/api/permissions';
import { queryClient } from '@/api/query_client';
import { useUser } from '@/api/session';
import { commitOfRefQuery } from '@/changes/diff_queries';
import { protectionOf, protectionQuery, requiredApprovals } from '@/refs/protection';
import { Button } from '@/ui/button';
import { FormDialog } from '@/ui/dialog';
import { TextField } from '@/ui/field';
import { counted } from '@/ui/format';
import { Icon } from '@/ui/icon';
import { ErrorPanel, Loaded } from '@/ui/states';
import { Badge, Time } from '@/ui/text';
import { type PullRequest, reviewersQuery } from './request_queries';
import { namesIn } from './threads';
import styles from './requests.module.css';

type Reviewer = Schemas['PullRequestReviewer'];

/** Reviews of a request, how many approvals of the present head the destination requires, and what still stops the merge. */
export function useReviews(repository: string, request: PullRequest) {
  const reviewers = useQuery(reviewersQuery(repository, request.id));
  const rules = useQuery(protectionQuery(repository));
  const needed = requiredApprovals(rules.data ?? [], request.destination_branch);
  const all = reviewers.data?.results ?? [];
  const valid = all.filter((reviewer) => reviewer.verdict === 'approved' && !reviewer.outdated);
  const objections = all
    .filter((reviewer) => reviewer.verdict === 'changes_requested')
    .map((reviewer) => reviewer.user);
  const isEnough = needed === 0 || (valid.length >= needed && objections.length === 0);
  return { reviewers, rules, needed, valid, objections, isEnough };
}

export function Reviews({ repository, request }: { repository: string; request: PullRequest }) {
  const { reviewers, rules, needed, valid, objections } = useReviews(repository, request);
  return (
    <section className="panel stack-tight" aria-label="Reviews">
      <h2>Reviews</h2>
      <p>
        {!rules.data
          ? `${counted(valid.length, 'approval')} of the present head${rules.error ? '; how many are required is not known' : ''}`
          : needed > 0
            ? `${valid.length} of ${needed} that ${request.destination_branch} requires`
            : `${request.destination_branch} requires none`}
      </p>
      {request.status === 'open' && needed > 0 && objections.length > 0 && (
        <p>
          <Badge kind="waiting">changes requested</Badge> {objections.join(', ')} must approve or withdraw the review
          before it can be merged.
        </p>
      )}
      <Loaded query={reviewers} rows={1}>
        {(data) =>
          data.results.length > 0 && (
            <ul className={styles.list}>
              {data.results.map((reviewer) => (
                <li key={reviewer.user}>
                  <ReviewLine of={reviewer} />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {request.status === 'open' && (
        <ReviewActions repository={repository} request={request} reviewers={reviewers.data?.results ?? []} />
      )}
      {protectionOf(rules.data ?? [], request.destination_branch).map((line) => (
        <p key={line} className="muted">
          Rule {line}
        </p>
      ))}
    </section>
  );
}

function ReviewLine({ of }: { of: Reviewer }) {
  if (of.verdict === undefined || of.commit_id === undefined || of.creation_date === undefined)
    return (
      <>
        <Icon name="user" /> {of.user} <span className="muted">was asked by {of.asked_by}</span>
      </>
    );
  return (
    <>
      <Icon name={of.verdict === 'changes_requested' ? 'error' : of.outdated ? 'history' : 'check'} /> {of.user}{' '}
      {of.verdict === 'approved' ? 'approved' : 'requested changes in'} <code>{of.commit_id.slice(0, 12)}</code>{' '}
      <Time at={of.creation_date} />
      {of.outdated && <Badge kind="neutral">the branch has moved since</Badge>}
    </>
  );
}

interface ReviewActionsProps {
  repository: string;
  request: PullRequest;
  reviewers: Reviewer[];
}

function ReviewActions({ repository, request, reviewers }: ReviewActionsProps) {
  const user = useUser();
  const head = useQuery(commitOfRefQuery(repository, request.source_branch));
  const mayWrite = useMay('pr:WritePullRequest', resource.repository(repository));
  const [error, setError] = useState<unknown>(null);
  const [dialog, setDialog] = useState<'changes' | 'ask' | null>(null);
  const isAuthor = request.author === user?.id;
  const mine = reviewers.find((reviewer) => reviewer.user === user?.id && reviewer.verdict !== undefined);
  const params = { path: { repository, pull_request: request.id } };
  const review = (verdict: 'approved' | 'changes_requested') =>
    answer(
      api.POST('/repositories/{repository}/pulls/{pull_request}/reviews', {
        params,
        body: { verdict, commit_id: head.data!.id },
      }),
    );
  const changed = () => queryClient.invalidateQueries({ queryKey: ['pulls', repository] });
  const run = async (call: () => Promise<unknown>) => {
    setError(null);
    try {
      await call();
    } catch (thrown) {
      setError(thrown);
    }
    void changed();
  };
  const unknown = head.data ? undefined : 'The head of the branch is not known yet';
  const refusal = (what: string) => mayWrite.refused ?? (isAuthor ? `The author of a request cannot ${what}` : unknown);
  return (
    <>
      {error !== null && <ErrorPanel error={error} />}
      {isAuthor && <p className="muted">You opened the request, so somebody else must approve it.</p>}
      <div className="toolbar">
        {(mine?.verdict !== 'approved' || mine.outdated) && (
          <Button
            icon="check"
            refused={refusal('approve it: somebody else must')}
            onPress={() => void run(() => review('approved'))}
          >
            Approve {head.data?.id.slice(0, 12)}
          </Button>
        )}
        {mine?.verdict !== 'changes_requested' && (
          <Button refused={refusal('request changes of it')} onPress={() => setDialog('changes')}>
            Request changes…
          </Button>
        )}
        {mine && (
          <Button
            refused={mayWrite.refused}
            onPress={() =>
              void run(() => answer(api.DELETE('/repositories/{repository}/pulls/{pull_request}/reviews', { params })))
            }
          >
            {mine.verdict === 'approved' ? 'Withdraw approval' : 'Withdraw request for changes'}
          </Button>
        )}
        <Button icon="user" refused={mayWrite.refused} onPress={() => setDialog('ask')}>
          Ask for reviews…
        </Button>
      </div>
      {dialog === 'changes' && (
        <RequestChanges
          onClose={() => setDialog(null)}
          onSave={async (body) => {
            // The reason comes first: a review without one helps nobody.
            await answer(
              api.POST('/repositories/{repository}/pulls/{pull_request}/comments', {
                params,
                body: { body, commit_id: head.data!.id },
              }),
            );
            await review('changes_requested');
            await changed();
          }}
        />
      )}
      {dialog === 'ask' && (
        <AskReviewers
          asked={reviewers.filter((reviewer) => reviewer.asked_by).map((reviewer) => reviewer.user)}
          onClose={() => setDialog(null)}
          onSave={async (users) => {
            await answer(
              api.PUT('/repositories/{repository}/pulls/{pull_request}/reviewers', { params, body: { users } }),
            );
            await changed();
          }}
        />
      )}
    </>
  );
}

function RequestChanges({ onClose, onSave }: { onClose: () => void; onSave: (body: string) => Promise<void> }) {
  const [body, setBody] = useState('');
  return (
    <FormDialog
      title="Request changes"
      action="Request changes"
      isOpen
      onClose={onClose}
      refused={body.trim() === '' ? 'Say what must change' : undefined}
      onSubmit={() => onSave(body)}
    >
      <p>Where the destination requires approvals, nothing is merged until you approve or withdraw this.</p>
      <TextField label="What must change" value={body} onChange={setBody} rows={5} required autoFocus />
    </FormDialog>
  );
}

interface AskReviewersProps {
  asked: string[];
  onClose: () => void;
  onSave: (users: string[]) => Promise<void>;
}

function AskReviewers({ asked, onClose, onSave }: AskReviewersProps) {
  const [names, setNames] = useState(asked.join(', '));
  return (
    <FormDialog
      title="Ask for reviews"
      action="Ask them"
      isOpen
      onClose={onClose}
      onSubmit={() => onSave(namesIn(names))}
    >
      <TextField
        label="Users"
        value={names}
        onChange={setNames}
        help="Names of users, with commas between them. Others are asked no more."
        autoFocus
      />
    </FormDialog>
  );
}
