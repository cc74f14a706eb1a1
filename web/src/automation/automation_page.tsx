import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api, type Schemas } from '@/api/client';
import { queryClient } from '@/api/query_client';
import { permitted, resource, useMay } from '@/api/permissions';
import { Button } from '@/ui/button';
import { CopyAs, CopyButton } from '@/ui/copy_as';
import { type Column, DataTable } from '@/ui/data_table';
import { Dialog, FormDialog } from '@/ui/dialog';
import { Checkbox, Select, TextField } from '@/ui/field';
import { usePagedRows } from '@/ui/paged_rows';
import { EmptyState, ErrorPanel, Skeleton } from '@/ui/states';
import { Badge, Name, Time } from '@/ui/text';
import { useRepository } from '@/app/use_repository';
import { eventTypes } from './events';
import { RunHooksDialog } from './run_hooks_dialog';
import { RunState } from './run_state';
import styles from './automation.module.css';

const route = getRouteApi('/signed-in/r/$repository/-/automation');
const pageSize = 100;
type ActionRun = Schemas['ActionRun'];
type Webhook = Schemas['Webhook'];

export function AutomationPage() {
  const { repository } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  const view = search.view ?? 'hooks';
  return (
    <div className="page-full">
      <h1>Automation</h1>
      <div className={styles.tabs} role="tablist" aria-label="Views">
        {(
          [
            ['hooks', 'Runs of hooks'],
            ['webhooks', 'Webhooks'],
          ] as const
        ).map(([id, label]) => (
          <button
            key={id}
            type="button"
            role="tab"
            aria-selected={view === id}
            className={view === id ? styles.tabAt : styles.tab}
            onClick={() =>
              void navigate({
                to: '/r/$repository/-/automation',
                params: { repository },
                search: id === 'hooks' ? {} : { view: id },
              })
            }
          >
            {label}
          </button>
        ))}
      </div>
      {view === 'hooks' ? (
        <Runs repository={repository} branch={search.branch} />
      ) : (
        <Webhooks repository={repository} />
      )}
    </div>
  );
}

function Runs({ repository, branch }: { repository: string; branch: string | undefined }) {
  const navigate = useNavigate();
  const [running, setRunning] = useState(false);
  const defaultBranch = useRepository(repository)?.default_branch ?? 'main';
  const [typed, setTyped] = useState(branch ?? '');
  const mayRun = useMay('ci:RunAction', resource.repository(repository));
  const rows = usePagedRows<ActionRun>(
    ['hook-runs', repository, branch ?? ''],
    (after, signal) =>
      permitted('ci:ReadAction', resource.repository(repository), () =>
        answer(
          api.GET('/repositories/{repository}/actions/runs', {
            params: {
              path: { repository },
              query: { after, amount: pageSize, running: true, ...(branch ? { branch } : {}) },
            },
            signal,
          }),
        ),
      ),
    { changing: (run) => run.end_time === undefined, grows: true },
  );
  const columns: Column<ActionRun>[] = [
    { id: 'state', header: 'State', width: '104px', cell: (row) => <RunState of={row} /> },
    {
      id: 'event',
      header: 'Event',
      width: 'minmax(88px, 1fr)',
      cell: (row) => (
        <Link to="/r/$repository/-/automation/runs/$run" params={{ repository, run: row.run_id }}>
          {row.event_type}
        </Link>
      ),
    },
    { id: 'branch', header: 'Branch', width: 'minmax(56px, 1fr)', cell: (row) => <Name>{row.branch}</Name> },
    {
      id: 'commit',
      header: 'Commit',
      width: '128px',
      wideOnly: true,
      cell: (row) =>
        row.commit_id ? (
          <Link to="/r/$repository/-/commits/$commit" params={{ repository, commit: row.commit_id }} className="mono">
            {row.commit_id.slice(0, 12)}
          </Link>
        ) : null,
    },
    {
      id: 'error',
      header: 'Error',
      width: 'minmax(120px, 3fr)',
      wideOnly: true,
      cell: (row) => (
        <span className="muted" style={{ minWidth: 0 }}>
          <Name>{row.error ?? ''}</Name>
        </span>
      ),
    },
    { id: 'when', header: 'Started', width: '96px', cell: (row) => <Time at={row.start_time} /> },
  ];
  return (
    <>
      <div className="toolbar">
        <form
          className={styles.field}
          onSubmit={(event) => {
            event.preventDefault();
            void navigate({
              to: '/r/$repository/-/automation',
              params: { repository },
              search: { branch: typed || undefined },
            });
          }}
        >
          <TextField label="Branch" hideLabel type="search" placeholder="Branch" value={typed} onChange={setTyped} />
        </form>
        <span className="grow" />
        <Button icon="automation" refused={mayRun.refused} onPress={() => setRunning(true)}>
          Run hooks…
        </Button>
        <CopyAs
          snippets={[
            { label: 'tarn', text: `tarn actions list ${repository}${branch ? ` --of-branch ${branch}` : ''}` },
            { label: 'Dry run', text: `tarn actions run ${defaultBranch} pre-commit --repo ${repository} --dry-run` },
          ]}
        />
      </div>
      {rows.error && rows.loaded === 0 ? (
        <ErrorPanel error={rows.error} onRetry={rows.retry} />
      ) : rows.isLoading ? (
        <Skeleton rows={6} />
      ) : (
        <DataTable
          label="Runs of hooks"
          fill
          columns={columns}
          count={rows.count}
          row={rows.row}
          rowKey={(row) => row.run_id}
          onRange={rows.onRange}
          onOpen={(row) =>
            void navigate({ to: '/r/$repository/-/automation/runs/$run', params: { repository, run: row.run_id } })
          }
          empty={
            <EmptyState
              icon="automation"
              command={`tarn actions validate _lakefs_actions/check.yaml`}
              action={
                <Button refused={mayRun.refused} onPress={() => setRunning(true)}>
                  Run hooks…
                </Button>
              }
            >
              {branch
                ? `No hook ran for ${branch}.`
                : 'Files below _lakefs_actions/ say which hooks run before and after commits, merges and other events. None has run yet.'}
            </EmptyState>
          }
        />
      )}
      {running && (
        <RunHooksDialog
          repository={repository}
          initial={{ ref: branch ?? defaultBranch, event: 'pre-commit', branch: '' }}
          onClose={() => setRunning(false)}
        />
      )}
    </>
  );
}

function Webhooks({ repository }: { repository: string }) {
  const navigate = useNavigate();
  const [making, setMaking] = useState(false);
  const [secret, setSecret] = useState<{ name: string; secret: string } | null>(null);
  const maySet = useMay('ci:WriteWebhook', resource.repository(repository));
  const rows = usePagedRows<Webhook>(['webhooks', repository], (after, signal) =>
    permitted('ci:ReadWebhook', resource.repository(repository), () =>
      answer(
        api.GET('/repositories/{repository}/webhooks', {
          params: { path: { repository }, query: { after, amount: pageSize } },
          signal,
        }),
      ),
    ),
  );
  const columns: Column<Webhook>[] = [
    {
      id: 'name',
      header: 'Name',
      width: 'minmax(120px, 1fr)',
      cell: (row) => (
        <>
          <Link to="/r/$repository/-/automation/webhooks/$webhook" params={{ repository, webhook: row.id }}>
            <Name>{row.id}</Name>
          </Link>
          {!row.active && <Badge kind="neutral">inactive</Badge>}
        </>
      ),
    },
    { id: 'url', header: 'Address', width: 'minmax(160px, 3fr)', cell: (row) => <Name mono>{row.url}</Name> },
    {
      id: 'events',
      header: 'Events',
      width: 'minmax(120px, 2fr)',
      wideOnly: true,
      cell: (row) => <Name mono>{eventsText(row)}</Name>,
    },
    { id: 'format', header: 'Format', width: '96px', wideOnly: true, cell: (row) => row.format },
    { id: 'by', header: 'By', width: '120px', wideOnly: true, cell: (row) => <Name>{row.created_by}</Name> },
  ];
  return (
    <>
      <div className="toolbar">
        <span className="grow" />
        <Button icon="plus" refused={maySet.refused} onPress={() => setMaking(true)}>
          New webhook
        </Button>
        <CopyAs
          snippets={[
            { label: 'tarn', text: `tarn webhook ls ${repository}` },
            {
              label: 'New',
              text: `tarn webhook set deploy https://ci.example/hook --repo ${repository} --event 'promotion.*'`,
            },
          ]}
        />
      </div>
      {rows.error && rows.loaded === 0 ? (
        <ErrorPanel error={rows.error} onRetry={rows.retry} />
      ) : rows.isLoading ? (
        <Skeleton rows={6} />
      ) : (
        <DataTable
          label="Webhooks"
          fill
          columns={columns}
          count={rows.count}
          row={rows.row}
          rowKey={(row) => row.id}
          onRange={rows.onRange}
          onOpen={(row) =>
            void navigate({
              to: '/r/$repository/-/automation/webhooks/$webhook',
              params: { repository, webhook: row.id },
            })
          }
          empty={
            <EmptyState
              icon="automation"
              command={`tarn webhook set deploy https://ci.example/hook --repo ${repository}`}
              action={
                <Button icon="plus" refused={maySet.refused} onPress={() => setMaking(true)}>
                  New webhook
                </Button>
              }
            >
              A webhook tells a service of yours about commits, promotions and other events, with a signature. There is
              none yet.
            </EmptyState>
          }
        />
      )}
      {making && (
        <WebhookDialog
          repository={repository}
          onClose={() => setMaking(false)}
          onMade={(name, made) => setSecret({ name, secret: made })}
        />
      )}
      {secret && (
        <Dialog title={`Secret of ${secret.name}`} isOpen onClose={() => setSecret(null)}>
          <p>The receiver checks signatures with it. It is shown this once.</p>
          <p className={styles.secret}>
            <code>{secret.secret}</code>
            <CopyButton text={secret.secret} label="Copy secret" />
          </p>
        </Dialog>
      )}
    </>
  );
}

/** "all", or the patterns. */
export function eventsText({ events }: Webhook): string {
  return events.length === 0 || events.includes('*') ? 'all' : events.join(', ');
}

/** Makes a webhook, or changes one. */
export function WebhookDialog({
  repository,
  webhook,
  onClose,
  onMade,
}: {
  repository: string;
  webhook?: Webhook;
  onClose: () => void;
  onMade?: (name: string, secret: string) => void;
}) {
  const [name, setName] = useState(webhook?.id ?? '');
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [events, setEvents] = useState(webhook?.events.join(' ') ?? '');
  const [format, setFormat] = useState<'standard' | 'mlflow'>(webhook?.format ?? 'standard');
  const [active, setActive] = useState(webhook?.active ?? true);
  return (
    <FormDialog
      title={webhook ? `Webhook ${webhook.id}` : 'New webhook'}
      isOpen
      onClose={onClose}
      action={webhook ? 'Save' : 'Make webhook'}
      refused={!name ? 'Give it a name' : !url ? 'Give an address' : undefined}
      onSubmit={async () => {
        const words = events.split(/[\s,]+/).filter(Boolean);
        const made = await answer(
          api.PUT('/repositories/{repository}/webhooks/{webhook}', {
            params: { path: { repository, webhook: name } },
            body: { url, format, active, ...(words.length > 0 ? { events: words } : {}) },
          }),
        );
        void queryClient.invalidateQueries({ queryKey: ['webhooks', repository] });
        if (made.secret) onMade?.(name, made.secret);
      }}
    >
      {!webhook && <TextField label="Name" value={name} onChange={setName} mono autoFocus />}
      <TextField label="Address" value={url} onChange={setUrl} mono placeholder="https://ci.example/hook" />
      <TextField
        label="Events"
        value={events}
        onChange={setEvents}
        mono
        placeholder="promotion.* branch.updated"
        help="Separated by spaces; * stands for any characters. Without any: all."
      />
      <Select
        label="Add an event"
        value=""
        onChange={(type) => setEvents([...new Set([...events.split(/[\s,]+/).filter(Boolean), type])].join(' '))}
        options={[
          { value: '', label: 'Choose an event' },
          ...eventTypes.map((type) => ({ value: type as string, label: type })),
        ]}
      />
      <Select
        label="Format"
        value={format}
        onChange={setFormat}
        options={[
          { value: 'standard', label: 'Standard Webhooks' },
          { value: 'mlflow', label: 'As MLflow’s registry' },
        ]}
      />
      <Checkbox checked={active} onChange={setActive}>
        Active
      </Checkbox>
    </FormDialog>
  );
}
