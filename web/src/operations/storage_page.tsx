import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api } from '@/api/client';
import { permitted, resource, useMay } from '@/api/permissions';
import { queryClient } from '@/api/query_client';
import { Button } from '@/ui/button';
import { CopyAs } from '@/ui/copy_as';
import { ConfirmDialog } from '@/ui/dialog';
import { Select } from '@/ui/field';
import { bytes, count, counted, duration } from '@/ui/format';
import { EmptyState, ErrorPanel, Loaded } from '@/ui/states';
import { Bytes } from '@/ui/text';
import { toast } from '@/ui/toast';
import { isUnderWay } from './collection_text';
import { Collections, ComingCollection } from './collections';
import { Holds } from './holds';
import { OperationsFrame } from './operations_frame';
import styles from './operations.module.css';

const route = getRouteApi('/signed-in/admin/storage');
const pollMs = 5000;
const busyPollMs = 2000;
const repositoriesMax = 1000;

/** The storage of a repository, the plan of garbage collection, its runs, and the commits that are held. */
export function StoragePage() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const repositories = useQuery({
    queryKey: ['repositories', 'names'],
    queryFn: async ({ signal }) =>
      (await answer(api.GET('/repositories', { params: { query: { amount: repositoriesMax } }, signal }))).results.map(
        (item) => item.id,
      ),
  });
  const chosen = search.repository ?? repositories.data?.[0];
  return (
    <OperationsFrame title="Storage and collection" scrolls>
      <Loaded query={repositories} rows={2}>
        {(names) =>
          chosen === undefined ? (
            <EmptyState
              icon="data"
              action={
                <Link to="/" search={{ create: true }}>
                  Create a repository
                </Link>
              }
            >
              There is no repository yet.
            </EmptyState>
          ) : (
            <>
              <div style={{ maxWidth: 320 }}>
                <Select
                  label="Repository"
                  value={chosen}
                  onChange={(repository) => void navigate({ to: '.', search: { repository } })}
                  options={[...new Set([chosen, ...names])].map((value) => ({ value, label: value }))}
                />
              </div>
              <Collection key={chosen} repository={chosen} />
            </>
          )
        }
      </Loaded>
    </OperationsFrame>
  );
}

function Figure({ label, children, detail }: { label: string; children: React.ReactNode; detail?: string }) {
  return (
    <div className={styles.figure}>
      <span className="muted">{label}</span>
      <strong>{children}</strong>
      {detail && <span className="muted">{detail}</span>}
    </div>
  );
}

function Collection({ repository }: { repository: string }) {
  const path = { repository };
  const plan = useQuery({
    queryKey: ['gc', repository, 'plan'],
    queryFn: ({ signal }) =>
      permitted('retention:GetGarbageCollectionRules', resource.repository(repository), () =>
        answer(api.GET('/repositories/{repository}/gc/plan', { params: { path }, signal })),
      ),
    retry: false,
  });
  const runs = useQuery({
    queryKey: ['gc', repository, 'runs'],
    queryFn: ({ signal }) =>
      permitted('retention:GetGarbageCollectionRules', resource.repository(repository), () =>
        answer(api.GET('/repositories/{repository}/gc/runs', { params: { path, query: { amount: 50 } }, signal })),
      ),
    refetchInterval: (query) => (isUnderWay(query.state.data) ? busyPollMs : pollMs),
  });
  const usage = useQuery({
    queryKey: ['usage', repository],
    queryFn: ({ signal }) => answer(api.GET('/repositories/{repository}/usage', { params: { path }, signal })),
  });
  const may = useMay('retention:PrepareGarbageCollectionCommits', resource.repository(repository));
  const [confirming, setConfirming] = useState(false);
  return (
    <>
      <ComingCollection repository={repository} runs={runs} refused={may.refused} />
      <section className="stack-tight" aria-label="Plan">
        <div className="page-head">
          <h2 className="grow">What a collection would find now</h2>
          <CopyAs
            snippets={[
              { label: 'tarn gc plan', text: `tarn gc plan tarn://${repository}` },
              { label: 'tarn gc run', text: `tarn gc run tarn://${repository}` },
              { label: 'tarn gc log', text: `tarn gc log tarn://${repository}` },
            ]}
          />
          <Button
            kind="danger"
            refused={
              runs.data?.requested && runs.data.retry_date === undefined
                ? 'A collection is requested already'
                : may.refused
            }
            onPress={() => setConfirming(true)}
          >
            Collect…
          </Button>
        </div>
        {plan.error && !plan.data ? (
          <ErrorPanel error={plan.error} onRetry={() => void plan.refetch()} />
        ) : (
          <Loaded query={plan} rows={3}>
            {(data) => (
              <div className={styles.figures}>
                <Figure label="Stored objects">{count(data.stored_objects)}</Figure>
                <Figure label="In use">{count(data.live_objects)}</Figure>
                <Figure label="Waiting" detail={counted(data.waiting_objects, 'object')}>
                  <Bytes of={data.waiting_bytes} />
                </Figure>
                <Figure label="Due for removal" detail={counted(data.due_objects, 'object')}>
                  <Bytes of={data.due_bytes} />
                </Figure>
                <Figure label="Commits due">{count(data.commits)}</Figure>
                <Figure label="Unknown objects" detail="never touched">
                  {count(data.strangers)}
                </Figure>
                <Figure label="Waiting time">{duration(data.grace_seconds)}</Figure>
              </div>
            )}
          </Loaded>
        )}
      </section>
      <section className="stack-tight" aria-label="Sizes">
        <h2>Largest branches</h2>
        <Loaded query={usage} rows={2}>
          {(data) =>
            data.results.length === 0 ? (
              <p className="muted">none</p>
            ) : (
              <ul className={styles.list}>
                {[...data.results]
                  .sort((a, b) => b.bytes - a.bytes)
                  .slice(0, 10)
                  .map((item) => (
                    <li key={item.path}>
                      <span className="grow">{item.path}</span>
                      <span>{counted(item.objects, 'object')}</span>
                      <Bytes of={item.bytes} />
                    </li>
                  ))}
              </ul>
            )
          }
        </Loaded>
      </section>
      <Collections runs={runs} />
      <Holds repository={repository} />
      {confirming && (
        <ConfirmDialog
          title={`Collect ${repository}?`}
          action="Collect garbage"
          isOpen
          onClose={() => setConfirming(false)}
          onConfirm={async () => {
            await answer(api.POST('/repositories/{repository}/gc/runs', { params: { path }, body: {} }));
            void queryClient.invalidateQueries({ queryKey: ['gc', repository] });
            toast('The collection is requested');
          }}
        >
          <p>
            Removes{' '}
            {plan.data ? (
              <>
                {counted(plan.data.due_objects, 'object')} of {bytes(plan.data.due_bytes)} and{' '}
                {counted(plan.data.commits, 'commit')}
              </>
            ) : (
              'what is due'
            )}{' '}
            for good. What no branch, tag, alias or held commit uses begins to wait.
          </p>
        </ConfirmDialog>
      )}
    </>
  );
}
