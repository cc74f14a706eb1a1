import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api, type Schemas } from '@/api/client';
import { asError } from '@/api/errors';
import { queryClient } from '@/api/query_client';
import { Button } from '@/ui/button';
import { FormDialog } from '@/ui/dialog';
import { Select, TextField } from '@/ui/field';
import { counted } from '@/ui/format';
import { ErrorPanel } from '@/ui/states';
import { toast } from '@/ui/toast';
import { hookEvents } from './events';
import styles from './automation.module.css';

const lookMs = 1000;
const newestLooked = 20;
type ActionRun = Schemas['ActionRun'];

interface RunHooksDialogProps {
  repository: string;
  initial: { ref: string; event: string; branch: string };
  onClose: () => void;
}

/** Runs the hooks of an event that did not happen; a dry run says which would run. */
export function RunHooksDialog({ repository, initial, onClose }: RunHooksDialogProps) {
  const navigate = useNavigate();
  const [ref, setRef] = useState(initial.ref);
  const [event, setEvent] = useState(initial.event);
  const [branch, setBranch] = useState(initial.branch);
  const [action, setAction] = useState('');
  const body = { ref, event, ...(branch ? { branch } : {}), ...(action ? { action } : {}) };
  const plan = useMutation({
    mutationFn: async () =>
      (await answer(
        api.POST('/repositories/{repository}/actions/runs', {
          params: { path: { repository } },
          body: { ...body, dry_run: true },
        }),
      )) as Schemas['HookPlan'],
  });
  const refused = !ref ? 'Name a ref' : !event ? 'Name an event' : undefined;
  return (
    <FormDialog
      title="Run hooks"
      isOpen
      wide
      onClose={onClose}
      action={`Run the hooks of ${event || 'an event'}`}
      refused={refused}
      onSubmit={async () => {
        const run = await begin(
          repository,
          event,
          async () =>
            (await answer(
              api.POST('/repositories/{repository}/actions/runs', { params: { path: { repository } }, body }),
            )) as ActionRun,
        );
        void queryClient.invalidateQueries({ queryKey: ['hook-runs', repository] });
        void navigate({ to: '/r/$repository/-/automation/runs/$run', params: { repository, run: run.run_id } });
      }}
    >
      <TextField
        label="Ref"
        value={ref}
        onChange={setRef}
        mono
        autoFocus
        help="Where the action files are; of a merge the source"
      />
      <Select
        label="Event"
        value={event}
        onChange={setEvent}
        options={hookEvents.map((name) => ({ value: name as string, label: name }))}
      />
      <TextField
        label="Branch of the event"
        value={branch}
        onChange={setBranch}
        mono
        help="Of a merge the destination; without it the ref"
      />
      <TextField label="Only this action" value={action} onChange={setAction} mono />
      <div className="toolbar">
        <Button onPress={() => plan.mutate()} refused={refused} isPending={plan.isPending}>
          Dry run
        </Button>
        {plan.data && <span role="status">{counted(plan.data.hooks.length, 'hook')} would run.</span>}
      </div>
      {plan.error && <ErrorPanel error={asError(plan.error)} />}
      {plan.data && plan.data.hooks.length > 0 && (
        <ol className={styles.plan}>
          {plan.data.hooks.map((hook, index) => (
            <li key={index}>
              <strong>{hook.action}</strong> / {hook.hook_id}{' '}
              <span className="muted">
                {hook.type}, {hook.file} at {hook.ref}
                {hook.if ? `, if ${hook.if}` : ''}
              </span>
            </li>
          ))}
        </ol>
      )}
    </FormDialog>
  );
}

/** The run when it has ended or, so that slow hooks can be watched, when the list has a new one of the event that runs. */
async function begin(repository: string, event: string, run: () => Promise<ActionRun>): Promise<ActionRun> {
  const newest = async () =>
    (
      await answer(
        api.GET('/repositories/{repository}/actions/runs', {
          params: { path: { repository }, query: { amount: newestLooked, running: true } },
        }),
      )
    ).results;
  const known = await newest().then(
    (runs) => new Set(runs.map((one) => one.run_id)),
    () => undefined,
  );
  if (known === undefined) return run(); // who may run hooks need not be one who may read runs
  let isOver = false;
  const ended = run().finally(() => {
    isOver = true;
  });
  const begun = (async () => {
    while (!isOver) {
      await new Promise((resolve) => setTimeout(resolve, lookMs));
      const found = isOver
        ? undefined
        : (await newest()).find(
            (one) => one.event_type === event && one.end_time === undefined && !known.has(one.run_id),
          );
      if (found) return found;
    }
    return ended;
  })();
  const first = await Promise.race([ended, begun.catch(() => ended)]);
  if (!isOver) ended.catch((error: unknown) => toast(asError(error).message));
  return first;
}
