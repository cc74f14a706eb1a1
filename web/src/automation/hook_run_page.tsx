import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useLayoutEffect, useRef, useState } from 'react';
import { answer, api, type Schemas } from '@/api/client';
import { permitted, resource } from '@/api/permissions';
import { Button } from '@/ui/button';
import { CopyAs } from '@/ui/copy_as';
import { duration } from '@/ui/format';
import { ErrorPanel, Loaded, Skeleton } from '@/ui/states';
import { Name, Time } from '@/ui/text';
import { RunHooksDialog } from './run_hooks_dialog';
import { RunState } from './run_state';
import styles from './automation.module.css';

const route = getRouteApi('/signed-in/r/$repository/-/automation/runs/$run');
const pollMs = 2000;
const outputMax = 1_000_000;
/** From the end of the output: nearer is at the end, which is followed while it grows. */
const endPixels = 24;

/** A run of hooks: its steps, and what each wrote, as it is written. */
export function HookRunPage() {
  const { repository, run: id } = route.useParams();
  const run = useQuery({
    queryKey: ['hook-run', repository, id],
    queryFn: ({ signal }) =>
      permitted('ci:ReadAction', resource.repository(repository), () =>
        answer(
          api.GET('/repositories/{repository}/actions/runs/{run_id}', {
            params: { path: { repository, run_id: id }, query: { running: true } },
            signal,
          }),
        ),
      ),
    refetchInterval: (query) => (query.state.data?.end_time === undefined ? pollMs : false),
  });
  return (
    <div className="page">
      <Loaded
        query={run}
        rows={8}
        heading={
          <>
            Run of hooks <Name mono>{id}</Name>
          </>
        }
      >
        {(data) => <Details repository={repository} run={data} />}
      </Loaded>
    </div>
  );
}

function Details({ repository, run }: { repository: string; run: Schemas['ActionRun'] }) {
  const { step: named } = route.useSearch();
  const navigate = useNavigate();
  const [again, setAgain] = useState(false);
  const isRunning = run.end_time === undefined;
  const steps = useQuery({
    queryKey: ['hook-run', repository, run.run_id, 'steps', isRunning],
    queryFn: ({ signal }) =>
      answer(
        api.GET('/repositories/{repository}/actions/runs/{run_id}/hooks', {
          params: { path: { repository, run_id: run.run_id }, query: { amount: 1000, running: true } },
          signal,
        }),
      ),
    // After the end the steps are asked for once more; until then those of before are shown.
    placeholderData: keepPreviousData,
    ...(isRunning ? { refetchInterval: pollMs } : {}),
  });
  const results = steps.data?.results ?? [];
  const [followed, setFollowed] = useState<string>();
  const running = results.find((step) => step.status === 'running')?.hook_run_id;
  if (running !== undefined && running !== followed) setFollowed(running);
  const byId = (id: string | undefined) => results.find((step) => step.hook_run_id === id);
  const shown =
    byId(named) ??
    results.find((step) => step.status === 'failed' && !step.skipped) ??
    byId(running ?? followed) ??
    results[0];
  return (
    <>
      <div className="page-head">
        <h1 className="grow">
          {run.event_type} on <Name>{run.branch}</Name>
        </h1>
        <RunState of={run} />
        <Button icon="automation" onPress={() => setAgain(true)}>
          Run again…
        </Button>
        <CopyAs
          snippets={[
            { label: 'Describe', text: `tarn actions describe ${run.run_id} --repo ${repository}` },
            {
              label: 'Run again',
              text: `tarn actions run ${run.commit_id || run.branch} ${run.event_type} --on ${run.branch} --repo ${repository}`,
            },
          ]}
        />
      </div>
      <dl className="facts">
        <dt>Run</dt>
        <dd className="mono">{run.run_id}</dd>
        <dt>Started</dt>
        <dd>
          <Time at={run.start_time} />
          {run.end_time && <>, took {duration((Date.parse(run.end_time) - Date.parse(run.start_time)) / 1000)}</>}
        </dd>
        {run.commit_id && (
          <>
            <dt>Commit</dt>
            <dd>
              <Link
                to="/r/$repository/-/commits/$commit"
                params={{ repository, commit: run.commit_id }}
                className="mono"
              >
                {run.commit_id.slice(0, 12)}
              </Link>
            </dd>
          </>
        )}
      </dl>
      {run.error && <p className={styles.refused}>{run.error}</p>}
      <h2>Steps</h2>
      {steps.error ? (
        <ErrorPanel error={steps.error} onRetry={() => void steps.refetch()} />
      ) : steps.isPending ? (
        <Skeleton rows={3} />
      ) : results.length === 0 ? (
        <p className="muted">
          {run.status === 'queued' ? 'It waits for a server.' : isRunning ? 'No hook has begun yet.' : 'No hook ran.'}
        </p>
      ) : (
        <div className={styles.steps}>
          <ul className={styles.stepList} aria-label="Steps">
            {results.map((step) => (
              <li key={step.hook_run_id}>
                <button
                  type="button"
                  aria-current={step === shown}
                  className={step === shown ? styles.stepAt : styles.step}
                  onClick={() =>
                    void navigate({
                      to: '/r/$repository/-/automation/runs/$run',
                      params: { repository, run: run.run_id },
                      search: { step: step.hook_run_id },
                      replace: true,
                    })
                  }
                >
                  <RunState of={step.skipped ? { status: 'skipped', end_time: step.start_time } : step} />
                  <span className={styles.stepName}>
                    <Name>{`${step.action} / ${step.hook_id}`}</Name>
                  </span>
                </button>
              </li>
            ))}
          </ul>
          {shown && <Output key={shown.hook_run_id} repository={repository} run={run.run_id} step={shown} />}
        </div>
      )}
      {again && (
        <RunHooksDialog
          repository={repository}
          initial={{ ref: run.commit_id || run.branch, event: run.event_type, branch: run.branch }}
          onClose={() => setAgain(false)}
        />
      )}
    </>
  );
}

function Output({ repository, run, step }: { repository: string; run: string; step: Schemas['HookRun'] }) {
  const isRunning = step.status === 'running';
  const output = useQuery({
    queryKey: ['hook-run', repository, run, 'output', step.hook_run_id, isRunning],
    queryFn: ({ signal }) =>
      answer(
        api.GET('/repositories/{repository}/actions/runs/{run_id}/hooks/{hook_run_id}/output', {
          params: { path: { repository, run_id: run, hook_run_id: step.hook_run_id } },
          parseAs: 'text',
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
    ...(isRunning ? { refetchInterval: pollMs } : {}),
  });
  const text = String(output.data ?? '');
  const box = useRef<HTMLPreElement>(null);
  const follows = useRef(isRunning);
  useLayoutEffect(() => {
    if (follows.current && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text]);
  return (
    <div className="stack-tight grow">
      <p>
        <strong>
          {step.action} / {step.hook_id}
        </strong>{' '}
        {step.end_time && (
          <span className="muted">{duration((Date.parse(step.end_time) - Date.parse(step.start_time)) / 1000)}</span>
        )}
      </p>
      {output.error ? (
        <ErrorPanel error={output.error} onRetry={() => void output.refetch()} />
      ) : (
        <pre
          ref={box}
          className={styles.output}
          tabIndex={0}
          onScroll={({ currentTarget: at }) => {
            follows.current = isRunning && at.scrollHeight - at.scrollTop - at.clientHeight < endPixels;
          }}
          aria-label="Output"
          aria-live={isRunning ? 'polite' : 'off'}
        >
          {text.slice(0, outputMax) || (isRunning ? 'Nothing yet…' : 'It wrote nothing.')}
        </pre>
      )}
      {text.length > outputMax && <p className="muted">The first {outputMax.toLocaleString('en-US')} characters.</p>}
    </div>
  );
}
