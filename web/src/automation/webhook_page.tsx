import { useMutation, useQuery } from '@tanstack/react-query';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api, type Schemas } from '@/api/client';
import { asError } from '@/api/errors';
import { permitted, resource, useMay } from '@/api/permissions';
import { queryClient } from '@/api/query_client';
import { Button } from '@/ui/button';
import { CopyAs } from '@/ui/copy_as';
import { type Column, DataTable } from '@/ui/data_table';
import { ConfirmDialog } from '@/ui/dialog';
import { Select } from '@/ui/field';
import { counted } from '@/ui/format';
import { usePagedRows } from '@/ui/paged_rows';
import { EmptyState, ErrorPanel, Loaded, Skeleton } from '@/ui/states';
import { Badge, Name, Time } from '@/ui/text';
import { toast } from '@/ui/toast';
import { eventsText, WebhookDialog } from './automation_page';
import type { DeliveryState } from './delivery_states';
import styles from './automation.module.css';

const route = getRouteApi('/signed-in/r/$repository/-/automation/webhooks/$webhook');
const pageSize = 100;
type Delivery = Schemas['WebhookDelivery'];
const kinds: Record<DeliveryState, 'waiting' | 'added' | 'removed'> = {
  pending: 'waiting',
  delivered: 'added',
  dead: 'removed',
};

/** The failure, which names the status, or the status; "" before the first attempt. */
function lastAnswer({ last_error, last_status }: Delivery): string {
  return last_error?.replace(/:\s*$/, '') || (last_status === undefined ? '' : `answered ${last_status}`);
}

/** Past and pending deliveries of a webhook. */
export function WebhookPage() {
  const { repository, webhook: name } = route.useParams();
  const { state } = route.useSearch();
  const navigate = useNavigate();
  const [editing, setEditing] = useState(false);
  const [deleting, setDeleting] = useState(false);
  const maySet = useMay('ci:WriteWebhook', resource.repository(repository));
  const webhook = useQuery({
    queryKey: ['webhooks', repository, name],
    queryFn: ({ signal }) =>
      permitted('ci:ReadWebhook', resource.repository(repository), () =>
        answer(
          api.GET('/repositories/{repository}/webhooks/{webhook}', {
            params: { path: { repository, webhook: name } },
            signal,
          }),
        ),
      ),
  });
  const key = ['deliveries', repository, name];
  const rows = usePagedRows<Delivery>(
    [...key, state ?? ''],
    (after, signal) =>
      permitted('ci:ReadWebhook', resource.repository(repository), () =>
        answer(
          api.GET('/repositories/{repository}/webhooks/{webhook}/deliveries', {
            params: {
              path: { repository, webhook: name },
              query: { after, amount: pageSize, ...(state ? { state } : {}) },
            },
            signal,
          }),
        ),
      ),
    { changing: (delivery) => delivery.state === 'pending', grows: true },
  );
  const ping = useMutation({
    mutationFn: () =>
      answer(
        api.POST('/repositories/{repository}/webhooks/{webhook}:ping', {
          params: { path: { repository, webhook: name } },
        }),
      ),
  });
  const again = useMutation({
    mutationFn: (delivery: string) =>
      answer(
        api.POST('/repositories/{repository}/webhooks/{webhook}/deliveries/{delivery}:redeliver', {
          params: { path: { repository, webhook: name, delivery } },
        }),
      ),
    onSuccess: () => {
      toast('It will be sent again');
      void queryClient.invalidateQueries({ queryKey: key });
    },
  });
  const columns: Column<Delivery>[] = [
    {
      id: 'state',
      header: 'State',
      width: '104px',
      cell: (row) => <Badge kind={kinds[row.state]}>{row.state}</Badge>,
    },
    { id: 'type', header: 'Event', width: 'minmax(112px, 1fr)', cell: (row) => <Name mono>{row.type}</Name> },
    { id: 'attempts', header: 'Attempts', width: '88px', numeric: true, wideOnly: true, cell: (row) => row.attempts },
    {
      id: 'answer',
      header: 'Last answer',
      width: 'minmax(120px, 2fr)',
      wideOnly: true,
      cell: (row) => <Name>{lastAnswer(row)}</Name>,
    },
    {
      id: 'next',
      header: 'Next attempt',
      width: '112px',
      wideOnly: true,
      cell: (row) => (row.next_attempt && row.state === 'pending' ? <Time at={row.next_attempt} /> : null),
    },
    { id: 'when', header: 'Made', width: '104px', wideOnly: true, cell: (row) => <Time at={row.creation_date} /> },
    {
      id: 'again',
      header: 'Again',
      hideHeader: true,
      width: '112px',
      cell: (row) => (
        <Button
          kind="quiet"
          aria-label={`Redeliver ${row.id}`}
          refused={maySet.refused}
          onPress={() => again.mutate(row.id)}
        >
          Redeliver
        </Button>
      ),
    },
  ];
  return (
    <div className="page">
      <Loaded query={webhook} rows={4}>
        {(data) => (
          <>
            <div className="page-head">
              <h1 className="grow">
                Webhook <Name>{data.id}</Name>
              </h1>
              <Button
                icon="automation"
                refused={maySet.refused}
                isPending={ping.isPending}
                onPress={() => ping.mutate()}
              >
                Ping
              </Button>
              <Button icon="edit" refused={maySet.refused} onPress={() => setEditing(true)}>
                Change…
              </Button>
              <Button icon="trash" kind="danger" refused={maySet.refused} onPress={() => setDeleting(true)}>
                Delete…
              </Button>
              <CopyAs
                snippets={[
                  { label: 'Ping', text: `tarn webhook ping ${name} --repo ${repository}` },
                  { label: 'Deliveries', text: `tarn webhook deliveries ${name} --repo ${repository}` },
                  { label: 'Redeliver the dead', text: `tarn webhook redeliver ${name} --dead --repo ${repository}` },
                ]}
              />
            </div>
            {ping.data && (
              <p role="status" className={ping.data.delivered ? styles.well : styles.refused}>
                {ping.data.delivered
                  ? `The receiver answered ${ping.data.status} after ${ping.data.duration_ms} ms.`
                  : `The ping failed: ${ping.data.error ?? `the receiver answered ${ping.data.status}`}.`}
              </p>
            )}
            {(ping.error ?? again.error) && <ErrorPanel error={asError(ping.error ?? again.error)} />}
            <dl className="facts">
              <dt>Address</dt>
              <dd className="mono">{data.url}</dd>
              <dt>Events</dt>
              <dd className="mono">{eventsText(data)}</dd>
              <dt>Format</dt>
              <dd>{data.format}</dd>
              <dt>State</dt>
              <dd>{data.active ? 'active' : 'inactive: it is told nothing'}</dd>
              <dt>Made</dt>
              <dd>
                <Time at={data.creation_date} /> by {data.created_by}
              </dd>
            </dl>
            {editing && <WebhookDialog repository={repository} webhook={data} onClose={() => setEditing(false)} />}
          </>
        )}
      </Loaded>
      <div className="page-head">
        <h2 className="grow">Deliveries</h2>
        <Select<DeliveryState | ''>
          label="State"
          hideLabel
          value={state ?? ''}
          onChange={(value) =>
            void navigate({
              to: '/r/$repository/-/automation/webhooks/$webhook',
              params: { repository, webhook: name },
              search: value === '' ? {} : { state: value },
            })
          }
          options={[
            { value: '', label: 'All' },
            { value: 'pending', label: 'Pending' },
            { value: 'delivered', label: 'Delivered' },
            { value: 'dead', label: 'Dead' },
          ]}
        />
      </div>
      {rows.error && rows.loaded === 0 ? (
        <ErrorPanel error={rows.error} onRetry={rows.retry} />
      ) : rows.isLoading ? (
        <Skeleton rows={4} />
      ) : (
        <DataTable
          label="Deliveries"
          columns={columns}
          count={rows.count}
          row={rows.row}
          rowKey={(row) => row.id}
          onRange={rows.onRange}
          empty={
            <EmptyState icon="automation" command={`tarn webhook ping ${name} --repo ${repository}`}>
              Nothing was sent{state ? ' in this state' : ''}.
            </EmptyState>
          }
        />
      )}
      {deleting && (
        <ConfirmDialog
          title="Delete webhook"
          isOpen
          action="Delete webhook"
          typed={name}
          onClose={() => setDeleting(false)}
          onConfirm={async () => {
            await answer(
              api.DELETE('/repositories/{repository}/webhooks/{webhook}', {
                params: { path: { repository, webhook: name } },
              }),
            );
            void queryClient.invalidateQueries({ queryKey: ['webhooks', repository] });
            void navigate({ to: '/r/$repository/-/automation', params: { repository }, search: { view: 'webhooks' } });
          }}
        >
          Deletes it with {counted(rows.loaded, 'delivery', 'deliveries')} listed here; what it was not told yet is
          dropped.
        </ConfirmDialog>
      )}
    </div>
  );
}
