import { useState } from 'react';
import { answer, api } from '@/api/client';
import { queryClient } from '@/api/query_client';
import type { components } from '@/api/schema';
import { Button } from '@/ui/button';
import { ConfirmDialog } from '@/ui/dialog';
import { count, counted } from '@/ui/format';
import { Icon } from '@/ui/icon';
import { Loaded, Progress } from '@/ui/states';
import { Badge, Bytes, Time, useNow } from '@/ui/text';
import { toast } from '@/ui/toast';
import { nextCollection, progressText } from './collection_text';
import styles from './operations.module.css';

type List = components['schemas']['GarbageCollectionList'];
type Run = components['schemas']['GarbageCollection'];

const badges: Partial<Record<Run['state'], 'added' | 'waiting' | 'removed'>> = {
  done: 'added',
  running: 'waiting',
  failed: 'removed',
  refused: 'removed',
};

function RunLine({ run }: { run: Run }) {
  return (
    <li>
      <Badge kind={badges[run.state] ?? 'neutral'}>{run.state}</Badge>
      <span>run {run.run}</span>
      {run.progress ? (
        <Progress
          label={`Progress of run ${run.run}`}
          value={run.progress.total ? run.progress.done / run.progress.total : undefined}
        >
          {progressText(run.progress)}
        </Progress>
      ) : (
        <span>
          removed {counted(run.removed_objects, 'object')}, <Bytes of={run.removed_bytes} />; found{' '}
          {counted(run.found_objects, 'object')} more to wait for
        </span>
      )}
      <span className="grow" />
      <span className="muted">
        {run.actor ?? 'by schedule'}, <Time at={run.start_date} />
        {run.cancelled_by && `, cancelled by ${run.cancelled_by}`}
      </span>
      {run.error && <span className={styles.line}>{run.error}</span>}
      {run.failed_objects > 0 && (
        <details className={styles.line}>
          <summary>
            The store did not remove {counted(run.failed_objects, 'object')}; the next collection tries again
          </summary>
          {run.failures.length > 0 && (
            <ul className={styles.failures}>
              {run.failures.map((failure) => (
                <li key={failure}>
                  <code>{failure}</code>
                </li>
              ))}
            </ul>
          )}
          {run.failures.length < run.failed_objects && (
            <p className="muted">and {count(run.failed_objects - run.failures.length)} more</p>
          )}
        </details>
      )}
    </li>
  );
}

interface CollectionsProps {
  repository: string;
  runs: { data: List | undefined; error: unknown; refetch: () => unknown };
}

/** The collections of a repository, newest first. */
export function Collections({ runs }: Pick<CollectionsProps, 'runs'>) {
  return (
    <section className="stack-tight" aria-label="Collections">
      <h2>Collections</h2>
      <Loaded query={runs} rows={2}>
        {(data) =>
          data.results.length === 0 ? (
            <p className="muted">None has run here yet.</p>
          ) : (
            <ul className={styles.list}>
              {data.results.map((run) => (
                <RunLine key={run.run} run={run} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}

/** The collection that runs now or comes next, with a button that cancels it; nothing if there is none. */
export function ComingCollection({ repository, runs, refused }: CollectionsProps & { refused: string | undefined }) {
  const now = useNow();
  const [cancelling, setCancelling] = useState(false);
  const newest = runs.data?.results[0];
  const running = newest?.state === 'running';
  const next = runs.data && nextCollection(runs.data, now);
  const text = running ? { text: newest.progress ? progressText(newest.progress) : 'A collection runs' } : next;
  return (
    <>
      {text && (
        <div className={styles.coming}>
          <Icon name="history" />
          <p role="status" className="grow" title={text.title}>
            {text.text}
          </p>
          <Button refused={refused} onPress={() => setCancelling(true)}>
            {running ? 'Cancel the collection…' : 'Cancel the request…'}
          </Button>
        </div>
      )}
      {cancelling && (
        <ConfirmDialog
          title={running ? 'Cancel the collection?' : 'Cancel the request?'}
          action={running ? 'Cancel the collection' : 'Cancel the request'}
          isOpen
          onClose={() => setCancelling(false)}
          onConfirm={async () => {
            await answer(api.DELETE('/repositories/{repository}/gc/runs', { params: { path: { repository } } }));
            void queryClient.invalidateQueries({ queryKey: ['gc', repository] });
            toast(running ? 'The collection ends within seconds' : 'The request is cancelled');
          }}
        >
          <p>
            {running
              ? 'It ends within seconds. What it has removed stays removed; a later collection does the rest.'
              : 'No collection begins until one is requested again, or the schedule begins one. Nothing is removed.'}
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}
