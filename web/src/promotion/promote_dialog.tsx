import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { answer, api } from '@/api/client';
import { asError } from '@/api/errors';
import { randomKey } from '@/api/idempotency';
import { Button } from '@/ui/button';
import { CopyButton } from '@/ui/copy_as';
import { FormDialog } from '@/ui/dialog';
import { Select, TextField } from '@/ui/field';
import { shellWord } from '@/ui/snippets';
import { ErrorPanel } from '@/ui/states';
import { type Evidence } from './evidence';
import { candidateWords, forgetPromotions, type GatePolicy, type Promotion } from './promotion_queries';
import { Outcome, verdictOutcome } from './rules_table';
import styles from './promotion.module.css';

interface PromoteDialogProps {
  repository: string;
  policy: GatePolicy;
  alias: string;
  candidates: string;
  onClose: () => void;
}

type Method = 'merge' | 'squash' | 'replace-paths';

/** Begins a promotion; a dry run first says who would win. */
export function PromoteDialog({ repository, policy, alias, candidates: given, onClose }: PromoteDialogProps) {
  const navigate = useNavigate();
  const destination = policy.destination ?? '';
  const [candidates, setCandidates] = useState(given);
  const [method, setMethod] = useState<Method>('merge');
  const [paths, setPaths] = useState('');
  const [reason, setReason] = useState('');
  const words = candidateWords(candidates);
  const body = {
    candidates: words,
    select: 'best' as const,
    dry_run: false,
    destination,
    policy: policy.name,
    method,
    ...(method === 'replace-paths' ? { paths: candidateWords(paths) } : {}),
    ...(reason ? { reason } : {}),
  };
  const asked = JSON.stringify(body);
  const key = useMemo(randomKey, [asked]);
  const dry = useMutation({
    mutationFn: () =>
      answer(
        api.POST('/repositories/{repository}/promotions', {
          params: { path: { repository } },
          body: { ...body, dry_run: true },
        }),
      ),
  });
  const evidence = dry.data as Evidence | undefined;
  const best = evidence?.candidates?.find((candidate) => candidate.rank === 1);
  const command = [
    'tarn',
    'promote',
    ...words,
    '--to',
    destination,
    '--policy',
    policy.name,
    '--repo',
    repository,
    ...(method === 'merge' ? [] : ['--method', method]),
    ...(method === 'replace-paths' ? candidateWords(paths).flatMap((path) => ['--path', path]) : []),
    ...(reason ? ['-m', reason] : []),
    '--wait',
  ]
    .map(shellWord)
    .join(' ');
  const refused =
    words.length === 0
      ? 'Name a candidate'
      : method === 'replace-paths' && candidateWords(paths).length === 0
        ? 'Name the paths to replace'
        : undefined;
  return (
    <FormDialog
      title={`Promote to ${destination}`}
      isOpen
      wide
      onClose={onClose}
      refused={refused}
      action={`Promote ${candidates.trim() || 'nothing'} to ${destination}${alias ? ` as @${alias}` : ''}`}
      onSubmit={async () => {
        const made = (await answer(
          api.POST('/repositories/{repository}/promotions', {
            params: { path: { repository } },
            body: { ...body, idempotency_key: key },
          }),
        )) as Promotion;
        forgetPromotions(repository);
        void navigate({ to: '/r/$repository/-/promotions/$promotion', params: { repository, promotion: made.id } });
      }}
    >
      <TextField
        label="Candidates"
        value={candidates}
        onChange={setCandidates}
        mono
        autoFocus
        help="Branches, patterns such as exp-*, tags or commits. The best that passes wins."
      />
      <Select<Method>
        label="Method"
        value={method}
        onChange={setMethod}
        options={[
          { value: 'merge', label: 'Merge' },
          { value: 'squash', label: 'Squash into one commit' },
          { value: 'replace-paths', label: 'Replace paths with the candidate’s' },
        ]}
      />
      {method === 'replace-paths' && (
        <TextField
          label="Paths"
          value={paths}
          onChange={setPaths}
          mono
          placeholder="artifacts/**"
          help="Patterns, separated by commas. Nothing else of the candidate comes along."
        />
      )}
      <TextField label="Reason" value={reason} onChange={setReason} placeholder="Why; it is kept in the record" />
      <div className="toolbar">
        <Button onPress={() => dry.mutate()} refused={refused} isPending={dry.isPending}>
          {dry.isPending ? 'Judging…' : 'Dry run'}
        </Button>
        {evidence?.candidates && (
          <span role="status">
            {best ? (
              <>
                <strong>{best.ref}</strong> would win of {evidence.candidates.length}.
              </>
            ) : (
              'No candidate would pass.'
            )}
          </span>
        )}
      </div>
      {dry.error && <ErrorPanel error={asError(dry.error)} />}
      {evidence?.refusal && <p className={styles.warning}>{evidence.refusal.message || evidence.refusal.code}</p>}
      {evidence?.candidates && (
        <ul className={styles.verdicts}>
          {evidence.candidates.slice(0, 50).map((candidate) => (
            <li key={candidate.ref}>
              <Outcome of={verdictOutcome(candidate.verdict)} /> <span className="mono">{candidate.ref}</span>{' '}
              <span className="muted">{candidate.rules.find((rule) => rule.outcome === 'fail')?.reason ?? ''}</span>
            </li>
          ))}
        </ul>
      )}
      <p className={styles.command}>
        <code>{command}</code>
        <CopyButton text={command} label="Copy command" />
      </p>
    </FormDialog>
  );
}
