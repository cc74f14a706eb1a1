import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api, type Schemas } from '@/api/client';
import { queryClient } from '@/api/query_client';
import { Button } from '@/ui/button';
import { type Column, DataTable } from '@/ui/data_table';
import { Dialog } from '@/ui/dialog';
import { EmptyState, ErrorPanel, Loaded } from '@/ui/states';
import { Badge, Name, Time } from '@/ui/text';
import { OperationsFrame } from './operations_frame';
import styles from './operations.module.css';

type Operation = Schemas['Operation'];
const route = getRouteApi('/signed-in/admin/operations');
const pollMs = 3000;
const shownMax = 1000;
const badges: Record<Operation['state'], 'waiting' | 'added' | 'removed' | 'neutral'> = {
  running: 'waiting',
  cancelling: 'waiting',
  done: 'added',
  failed: 'removed',
  cancelled: 'neutral',
  lost: 'removed',
};

/** Requests that go on after their client was answered: imports, merges, deletions of prefixes, verifications. */
export function OperationsPage() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const list = useQuery({
    queryKey: ['operations', 'list'],
    queryFn: ({ signal }) => answer(api.GET('/operations', { params: { query: { amount: shownMax } }, signal })),
    refetchInterval: pollMs,
  });
  const columns: Column<Operation>[] = [
    { id: 'operation', header: 'Request', width: 'minmax(120px, 1fr)', cell: (row) => <Name>{row.operation}</Name> },
    {
      id: 'target',
      header: 'Target',
      width: 'minmax(140px, 2fr)',
      wideOnly: true,
      cell: (row) => (
        <span className="muted" style={{ minWidth: 0, display: 'inline-flex' }}>
          <Name mono>{row.target}</Name>
        </span>
      ),
    },
    {
      id: 'state',
      header: 'State',
      width: '112px',
      cell: (row) => <Badge kind={badges[row.state]}>{row.state}</Badge>,
    },
    { id: 'created', header: 'Started', width: '96px', cell: (row) => <Time at={row.created} /> },
    { id: 'updated', header: 'Changed', width: '96px', wideOnly: true, cell: (row) => <Time at={row.updated} /> },
  ];
  return (
    <OperationsFrame title="Background requests">
      <Loaded query={list} rows={6}>
        {(data) => (
          <DataTable
            label="Background requests"
            fill
            columns={columns}
            count={data.results.length}
            row={(at) => data.results[at]}
            rowKey={(row) => row.id}
            activeKey={search.operation}
            onOpen={(row) => void navigate({ to: '.', search: { operation: row.id } })}
            empty={
              <EmptyState icon="server" command="tarn op list">
                No request has taken long. Requests that carry "Prefer: respond-async" show here while they run, and
                some time after.
              </EmptyState>
            }
          />
        )}
      </Loaded>
      {search.operation !== undefined && (
        <OperationDialog
          key={search.operation}
          id={search.operation}
          onClose={() => void navigate({ to: '.', search: {} })}
        />
      )}
    </OperationsFrame>
  );
}

function OperationDialog({ id, onClose }: { id: string; onClose: () => void }) {
  const [error, setError] = useState<unknown>(null);
  const found = useQuery({
    queryKey: ['operations', 'one', id],
    queryFn: ({ signal }) =>
      answer(api.GET('/operations/{operation}', { params: { path: { operation: id } }, signal })),
    refetchInterval: (query) =>
      query.state.data && ['running', 'cancelling'].includes(query.state.data.state) ? pollMs : false,
  });
  return (
    <Dialog title="Background request" isOpen onClose={onClose} side>
      <Loaded query={found} rows={4}>
        {(data) => (
          <div className="stack">
            <dl className="facts">
              <dt>Request</dt>
              <dd>{data.operation}</dd>
              <dt>Target</dt>
              <dd className="mono">{data.target}</dd>
              <dt>State</dt>
              <dd>
                <Badge kind={badges[data.state]}>{data.state}</Badge>
              </dd>
              <dt>Started</dt>
              <dd>
                <Time at={data.created} />
              </dd>
              <dt>Changed</dt>
              <dd>
                <Time at={data.updated} />
              </dd>
              {data.status !== undefined && (
                <>
                  <dt>Answer</dt>
                  <dd>{data.status}</dd>
                </>
              )}
              <dt>Id</dt>
              <dd>
                <code>{data.id}</code>
              </dd>
            </dl>
            {data.state === 'lost' && (
              <p>
                The server that ran it stopped before it stored an answer. It may have taken effect; it is never run
                again.
              </p>
            )}
            {data.result !== undefined && (
              <pre className={styles.result} tabIndex={0}>
                {JSON.stringify(data.result, null, 2)}
              </pre>
            )}
            {error !== null && <ErrorPanel error={error} />}
            {data.state === 'running' && (
              <div>
                <Button
                  kind="danger"
                  onPress={() =>
                    void answer(api.DELETE('/operations/{operation}', { params: { path: { operation: id } } })).then(
                      () => queryClient.invalidateQueries({ queryKey: ['operations'] }),
                      setError,
                    )
                  }
                >
                  Cancel the request
                </Button>
              </div>
            )}
          </div>
        )}
      </Loaded>
    </Dialog>
  );
}
