import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer, api } from '@/api/client';
import { randomKey } from '@/api/idempotency';
import { queryClient } from '@/api/query_client';
import { useRepository } from '@/app/use_repository';
import { recent } from '@/app/recent';
import { FormDialog } from '@/ui/dialog';
import { shortRef } from '@/ui/format';
import { PairsField, TextField } from '@/ui/field';
import { RefPicker } from '@/ui/ref_picker';
import { toast } from '@/ui/toast';
import { runsKey } from './run_queries';

/** NaN and infinities are recorded too, and no gate accepts them. */
const numberWords = /^(nan|[+-]?inf(inity)?)$/i;

/** Why a value is no number; undefined if it is one. */
export function metricProblem(pairs: readonly [string, string][]): string | undefined {
  const wrong = pairs.find(
    ([name, value]) =>
      name === '' || value.trim() === '' || (!Number.isFinite(Number(value)) && !numberWords.test(value.trim())),
  );
  return wrong && (wrong[0] === '' ? 'Each value needs a name' : `${wrong[0]} needs a number`);
}

/** Records what was measured of a branch elsewhere: in a notebook, or on paper. The run is of the commit that is shown. */
export function RecordRun({ repository, onClose }: { repository: string; onClose: () => void }) {
  const base = useRepository(repository)?.default_branch ?? 'main';
  const [branch, setBranch] = useState<string | null>(null);
  const [experiment, setExperiment] = useState(recent(`experiments.${repository}`)[0] ?? 'default');
  const [params, setParams] = useState<[string, string][]>([]);
  const [metrics, setMetrics] = useState<[string, string][]>([]);
  const [key] = useState(randomKey);
  const ref = branch ?? base;
  const head = useQuery({
    queryKey: [...runsKey(repository), 'head', ref],
    queryFn: () =>
      answer(
        api.GET('/repositories/{repository}/branches/{branch}', { params: { path: { repository, branch: ref } } }),
      ),
    staleTime: Infinity,
    gcTime: 0,
  });
  const commit = head.data?.commit_id;
  const twice = [params, metrics].some((pairs) => new Set(pairs.map(([name]) => name)).size < pairs.length);
  return (
    <FormDialog
      title="Record a run"
      action="Record run"
      isOpen
      onClose={onClose}
      refused={
        commit === undefined
          ? head.error
            ? 'The branch cannot be read'
            : 'The head of the branch is being read'
          : experiment.trim() === ''
            ? 'Name the experiment'
            : metrics.length === 0
              ? 'Enter a metric'
              : (metricProblem(metrics) ??
                (params.some(([name]) => name === '')
                  ? 'Each parameter needs a name'
                  : twice
                    ? 'A name is there twice'
                    : undefined))
      }
      onSubmit={async () => {
        const run = await answer(
          api.POST('/repositories/{repository}/experiments/{experiment}/runs', {
            params: { path: { repository, experiment: experiment.trim() } },
            body: {
              commit: commit!,
              branch: ref,
              params: Object.fromEntries(params),
              metrics: Object.fromEntries(
                metrics.map(([name, value]) => [name, numberWords.test(value.trim()) ? value.trim() : Number(value)]),
              ),
              idempotency_key: key,
            },
          }),
        );
        void queryClient.invalidateQueries({ queryKey: runsKey(repository) });
        toast(`Recorded run ${run.id}`);
      }}
    >
      <div className="stack-tight" style={{ gap: 4 }}>
        <span style={{ fontWeight: 500 }}>Branch</span>
        <div>
          <RefPicker
            repository={repository}
            value={ref}
            label="Branch that was measured"
            kinds={['branch']}
            onChange={setBranch}
          />
        </div>
      </div>
      <p className="muted">
        The run belongs to commit {commit === undefined ? '…' : shortRef(commit)}, the head of the branch when you chose
        it, and is never changed.
      </p>
      <TextField label="Experiment" value={experiment} onChange={setExperiment} required mono autoFocus />
      <PairsField label="Metrics" pairs={metrics} onChange={setMetrics} />
      <PairsField label="Parameters" pairs={params} onChange={setParams} />
    </FormDialog>
  );
}
