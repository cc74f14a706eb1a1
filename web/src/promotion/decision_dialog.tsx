// Dialogs that say something of a promotion: an approval and other decisions, and the report of a check.
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api } from '@/api/client';
import { CopyButton } from '@/ui/copy_as';
import { FormDialog } from '@/ui/dialog';
import { Select, TextField } from '@/ui/field';
import { shellWord } from '@/ui/snippets';
import { Name } from '@/ui/text';
import { isNumber } from './policy_document';
import { forgetPromotions, type Promotion } from './promotion_queries';
import styles from './promotion.module.css';

export type Verb = 'approve' | 'reject' | 'cancel' | 'rollback';

const verbs: Record<
  Verb,
  { title: string; action: (promotion: Promotion) => string; does: (promotion: Promotion) => string }
> = {
  approve: {
    title: 'Approve',
    action: (promotion) => (promotion.undoes ? 'Approve the rollback' : `Approve ${promotion.winner?.ref ?? ''}`),
    does: (promotion) =>
      promotion.undoes
        ? 'With enough approvals the rollback is carried out.'
        : `With enough approvals ${promotion.winner?.ref} is merged into ${promotion.destination}. ` +
          'The approval counts for what is shown here alone.',
  },
  reject: {
    title: 'Reject',
    action: () => 'Reject',
    does: (promotion) => `The promotion ends; ${promotion.destination} and its alias stay as they are.`,
  },
  cancel: {
    title: 'Cancel promotion',
    action: () => 'Cancel promotion',
    does: (promotion) => `The promotion ends; ${promotion.destination} and its alias stay as they are.`,
  },
  rollback: {
    title: 'Roll back',
    action: (promotion) => `Roll back ${promotion.destination}`,
    does: (promotion) => {
      const before = promotion.champion?.slice(0, 12) || 'nothing: there was no champion before';
      const alias = promotion.alias ? `, and moves @${promotion.alias} back to ${before}` : '';
      return (
        `Makes a commit on ${promotion.destination} that reverts ${promotion.result?.slice(0, 12)}${alias}. ` +
        'If later commits changed the same paths, it lists them and changes nothing.'
      );
    },
  },
};

/** What an approval consents to: candidate and champion side by side. */
function Review({ promotion }: { promotion: Promotion }) {
  const review = promotion.review;
  if (!review || review.action !== 'promote') return null;
  const values = Object.entries(review.values ?? {});
  return (
    <>
      <dl className="facts">
        <dt>Commit</dt>
        <dd className="mono">{review.commit}</dd>
        <dt>{review.champion.alias ? `@${review.champion.alias} is now` : 'Replaces'}</dt>
        <dd className="mono">{review.champion.commit ?? 'nothing'}</dd>
        <dt>Method</dt>
        <dd>{[review.method, ...(review.paths ?? [])].join(' ')}</dd>
        <dt>Policy</dt>
        <dd>
          <Name>{review.policy.name ?? ''}</Name> version {review.policy.version}
        </dd>
        {(review.objects?.count ?? 0) > 0 && (
          <>
            <dt>Required objects</dt>
            <dd>
              {review.objects?.count}, SHA-256 <span className="mono">{review.objects?.digest}</span>
            </dd>
          </>
        )}
      </dl>
      {values.length > 0 && (
        <table className="table">
          <thead>
            <tr>
              <th>Metric</th>
              <th>{review.candidate}</th>
              <th>To beat</th>
            </tr>
          </thead>
          <tbody>
            {values.map(([name, value]) => (
              <tr key={name}>
                <td>
                  <Name>{name}</Name>
                </td>
                <td className="mono">{value.candidate ?? 'not measured'}</td>
                <td className="mono">{value.champion ?? 'nothing'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

/**
 * A decision with its reason. The page follows the promotion while the dialog is open; what is approved is the review that
 * the dialog has shown since it opened, and the server refuses it when that is another by now.
 */
export function DecisionDialog({
  repository,
  promotion: latest,
  verb,
  onClose,
}: {
  repository: string;
  promotion: Promotion;
  verb: Verb;
  onClose: () => void;
}) {
  const [promotion] = useState(latest);
  const navigate = useNavigate();
  const [reason, setReason] = useState('');
  const texts = verbs[verb];
  return (
    <FormDialog
      title={texts.title}
      isOpen
      onClose={onClose}
      danger={verb !== 'approve'}
      action={texts.action(promotion)}
      onSubmit={async () => {
        const given = reason ? { reason } : {};
        const init = { params: { path: { repository, promotion: promotion.id } }, body: given };
        const call =
          verb === 'approve'
            ? api.POST('/repositories/{repository}/promotions/{promotion}:approve', {
                ...init,
                body: { ...given, review_digest: promotion.review_digest ?? '' },
              })
            : verb === 'reject'
              ? api.POST('/repositories/{repository}/promotions/{promotion}:reject', init)
              : verb === 'cancel'
                ? api.POST('/repositories/{repository}/promotions/{promotion}:cancel', init)
                : api.POST('/repositories/{repository}/promotions/{promotion}:rollback', init);
        // A refusal says that the promotion is not as it was shown: then the page reads it again, too.
        const answered = await answer(call).finally(() => forgetPromotions(repository));
        if (verb === 'rollback')
          void navigate({
            to: '/r/$repository/-/promotions/$promotion',
            params: { repository, promotion: answered.id },
          });
      }}
    >
      <p>{texts.does(promotion)}</p>
      {verb === 'approve' && <Review promotion={promotion} />}
      {verb === 'rollback' && promotion.result && (
        <p>
          <Link to="/r/$repository/-/commits/$commit" params={{ repository, commit: promotion.result }} target="_blank">
            The changes that it takes back
          </Link>
        </p>
      )}
      <TextField label="Reason" value={reason} onChange={setReason} rows={3} placeholder="It is kept in the record" />
      <Command
        of={[
          'promote',
          verb,
          promotion.id,
          '--repo',
          repository,
          ...(verb === 'approve' && promotion.review_digest ? ['--review', promotion.review_digest] : []),
          ...(reason ? ['-m', reason] : []),
        ]}
      />
    </FormDialog>
  );
}

/** The line of `tarn` that does what the dialog does. */
function Command({ of }: { of: string[] }) {
  const command = ['tarn', ...of].map(shellWord).join(' ');
  return (
    <p className={styles.command}>
      <code>{command}</code>
      <CopyButton text={command} label="Copy command" />
    </p>
  );
}

/** A report of a check about the commit that was the winner when the dialog opened. */
export function CheckDialog({
  repository,
  promotion,
  check,
  commit: latest,
  onClose,
}: {
  repository: string;
  promotion: Promotion;
  check: string;
  commit: string;
  onClose: () => void;
}) {
  const [commit] = useState(latest);
  const [name, setName] = useState(check);
  const [status, setStatus] = useState<'success' | 'failure' | 'pending'>('success');
  const [metrics, setMetrics] = useState('');
  const pairs = metrics
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((word) => word.split('='));
  const wrong = pairs.find(([key, value]) => !key || value === undefined || !isNumber(value));
  return (
    <FormDialog
      title="Report a check"
      isOpen
      onClose={onClose}
      action="Report"
      refused={!name ? 'Name the check' : wrong ? 'Metrics are name=number' : undefined}
      onSubmit={async () => {
        await answer(
          api.POST('/repositories/{repository}/promotions/{promotion}/checks/{check}', {
            params: { path: { repository, promotion: promotion.id, check: name } },
            body: {
              commit,
              status,
              ...(pairs.length > 0
                ? { metrics: Object.fromEntries(pairs.map(([key, value]) => [key!, Number(value)])) }
                : {}),
            },
          }),
        );
        forgetPromotions(repository);
      }}
    >
      <p>
        What a check found about <span className="mono">{commit.slice(0, 12)}</span>. It counts for no other commit.
      </p>
      <TextField label="Check" value={name} onChange={setName} mono />
      <Select
        label="Result"
        value={status}
        onChange={setStatus}
        options={[
          { value: 'success', label: 'Success' },
          { value: 'failure', label: 'Failure' },
          { value: 'pending', label: 'Running' },
        ]}
      />
      <TextField
        label="Metrics"
        value={metrics}
        onChange={setMetrics}
        mono
        placeholder="p95_latency_ms=80"
        help="name=number, separated by spaces"
        error={wrong ? 'Each must be name=number' : undefined}
      />
      <Command
        of={[
          'promote',
          'check',
          promotion.id,
          name,
          '--repo',
          repository,
          '--commit',
          commit,
          '--status',
          status,
          ...(wrong ? [] : pairs.flatMap((pair) => ['--metric', pair.join('=')])),
        ]}
      />
    </FormDialog>
  );
}
