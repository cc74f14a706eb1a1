import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Schemas } from '@/api/client';
import { resource, useMay } from '@/api/permissions';
import { useUser } from '@/api/session';
import { Button } from '@/ui/button';
import { ConfirmDialog } from '@/ui/dialog';
import { Time } from '@/ui/text';
import { removeGate, setGate } from './gate_changes';
import { diffLines } from './line_diff';
import type { GatePolicy } from './promotion_queries';
import styles from './promotion.module.css';

/** A change that waits until a second user asks for the same. */
export function Proposal({
  repository,
  current,
  proposal,
  onSaved,
}: {
  repository: string;
  current: GatePolicy;
  proposal: NonNullable<GatePolicy['proposal']>;
  onSaved: (saved: Schemas['GatePolicySet']) => void;
}) {
  const navigate = useNavigate();
  const user = useUser();
  const maySet = useMay('branches:SetGatePolicy', resource.repository(repository));
  const [confirming, setConfirming] = useState(false);
  const document = proposal.document ?? '';
  return (
    <section aria-label="Proposal" className="panel stack-tight">
      <h2>{proposal.removes ? 'Proposed removal' : 'Proposed change'}</h2>
      <p>
        {proposal.author} proposed <Time at={proposal.creation_date} /> to{' '}
        {proposal.removes ? 'remove this gate' : 'set the document below'}. It waits until a second user{' '}
        {proposal.removes ? 'removes the gate too' : 'sets the same document'}; version {current.version} holds until
        then.
      </p>
      {!proposal.removes && (
        <Differences before={current.document ?? ''} after={document} label="Proposed differences" />
      )}
      <div className="toolbar">
        <Button
          kind={proposal.removes ? 'danger' : 'primary'}
          refused={
            maySet.refused ??
            (proposal.author === user?.id ? 'You proposed it: a second user must apply it' : undefined)
          }
          onPress={() => setConfirming(true)}
        >
          {proposal.removes ? 'Remove the gate…' : 'Apply the same document…'}
        </Button>
      </div>
      {confirming && (
        <ConfirmDialog
          title={proposal.removes ? 'Remove gate' : 'Change gate'}
          isOpen
          action={proposal.removes ? 'Remove gate' : `Set version ${proposal.base_version + 1}`}
          onClose={() => setConfirming(false)}
          onConfirm={async () => {
            if (!proposal.removes) onSaved(await setGate(repository, current.name, proposal.base_version, document));
            else if (!(await removeGate(repository, current)))
              void navigate({ to: '/r/$repository/-/promotions', params: { repository }, search: {} });
          }}
        >
          <p>
            {current.destination} is then judged {proposal.removes ? 'by no gate' : 'by the proposed document'}, as{' '}
            {proposal.author} and you have asked.
          </p>
        </ConfirmDialog>
      )}
    </section>
  );
}

/** Lines of a document that differ from another. */
export function Differences({ before, after, label }: { before: string; after: string; label: string }) {
  return (
    <pre className={styles.code} tabIndex={0} aria-label={label}>
      {diffLines(before, after).map((line, index) => (
        <span
          key={index}
          className={
            line.kind === 'added' ? styles.lineAdded : line.kind === 'removed' ? styles.lineRemoved : styles.line
          }
        >
          {line.kind === 'added' ? '+ ' : line.kind === 'removed' ? '- ' : '  '}
          {line.text}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}
