import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api, type Schemas } from '@/api/client';
import { resource, useMay } from '@/api/permissions';
import { queryClient } from '@/api/query_client';
import { Button } from '@/ui/button';
import { CopyButton } from '@/ui/copy_as';
import { type Column, DataTable } from '@/ui/data_table';
import { Dialog } from '@/ui/dialog';
import { Checkbox } from '@/ui/field';
import { count, counted } from '@/ui/format';
import { usePagedRows } from '@/ui/paged_rows';
import { EmptyState, ErrorPanel, Skeleton } from '@/ui/states';
import { Badge, Name, Time } from '@/ui/text';
import { OperationsFrame } from './operations_frame';

type Job = Schemas['Job'];
const route = getRouteApi('/signed-in/admin/jobs');
const pageSize = 200;
const badges: Record<Job['state'], 'waiting' | 'added' | 'removed' | 'neutral'> = {
  queued: 'waiting',
  running: 'waiting',
  done: 'added',
  failed: 'removed',
  cancelled: 'neutral',
};
const names: Record<string, string> = {
  import: 'Import',
  verify: 'Verification',
  refs_dump: 'Dump of refs',
  refs_restore: 'Restore of refs',
};
const isOpen = (job: Job) => job.state === 'queued' || job.state === 'running';

/** Imports, verifications and dumps, which go on without the page that began them. */
export function JobsPage() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const maySeeAll = useMay('auth:ListUsers', '*');
  const everyone = search.everyone === true;
  const rows = usePagedRows<Job>(
    ['jobs', everyone],
    (after, signal) =>
      answer(
        api.GET('/jobs', { params: { query: { after, amount: pageSize, ...(everyone ? { everyone } : {}) } }, signal }),
      ),
    { changing: isOpen, grows: true },
  );
  const [shown, setShown] = useState<Job | null>(null);
  const columns: Column<Job>[] = [
    {
      id: 'kind',
      header: 'Job',
      width: 'minmax(112px, 1fr)',
      cell: (row) => <Name>{names[row.kind] ?? row.kind}</Name>,
    },
    { id: 'target', header: 'Repository', width: 'minmax(96px, 2fr)', cell: (row) => <Name>{targetOf(row)}</Name> },
    { id: 'state', header: 'State', width: '96px', cell: (row) => <Badge kind={badges[row.state]}>{row.state}</Badge> },
    {
      id: 'progress',
      header: 'Objects',
      width: '96px',
      numeric: true,
      wideOnly: true,
      cell: (row) => count(row.progress),
    },
    {
      id: 'error',
      header: 'Error',
      width: 'minmax(96px, 2fr)',
      wideOnly: true,
      cell: (row) => (
        <span className="muted" style={{ minWidth: 0 }}>
          <Name>{row.error ?? ''}</Name>
        </span>
      ),
    },
    ...(everyone
      ? [
          {
            id: 'user',
            header: 'User',
            width: 'minmax(80px, 1fr)',
            wideOnly: true,
            cell: (row: Job) => <Name>{row.user}</Name>,
          },
        ]
      : []),
    { id: 'created', header: 'Started', width: '96px', wideOnly: true, cell: (row) => <Time at={row.created} /> },
  ];
  const current = shown && (rowWith(rows, shown.id) ?? shown);
  return (
    <OperationsFrame
      title="Jobs"
      actions={
        maySeeAll.known && maySeeAll.allowed ? (
          <Checkbox
            checked={everyone}
            onChange={(on) => void navigate({ to: '.', search: { everyone: on || undefined } })}
          >
            Of all users
          </Checkbox>
        ) : undefined
      }
    >
      {rows.error && rows.loaded === 0 ? (
        <ErrorPanel error={rows.error} onRetry={rows.retry} />
      ) : rows.isLoading ? (
        <Skeleton rows={6} />
      ) : (
        <DataTable
          label="Jobs"
          fill
          columns={columns}
          count={rows.count}
          row={rows.row}
          rowKey={(row) => row.id}
          onRange={rows.onRange}
          activeKey={shown?.id}
          onOpen={setShown}
          empty={
            <EmptyState icon="server" command="tarn import s3://BUCKET/PREFIX/ tarn://REPOSITORY/BRANCH/">
              No job has run lately. Imports and verifications show here while they run, and some time after.
            </EmptyState>
          }
        />
      )}
      {current && <JobDialog job={current} onClose={() => setShown(null)} />}
    </OperationsFrame>
  );
}

/** The row as it is now: it changes while the dialog is open. */
function rowWith(rows: { loaded: number; row: (index: number) => Job | undefined }, id: string): Job | undefined {
  for (let index = 0; index < rows.loaded; ++index) {
    const job = rows.row(index);
    if (job?.id === id) return job;
  }
  return undefined;
}

function targetOf(job: Job): string {
  if (job.hidden) return 'not readable';
  return job.repository === undefined
    ? 'deleted'
    : [job.repository, job.branch].filter((part) => part !== undefined).join(' / ');
}

function JobDialog({ job, onClose }: { job: Job; onClose: () => void }) {
  const [error, setError] = useState<unknown>(null);
  const { id, repository, branch } = job;
  const cancel = () => {
    if (repository === undefined) return;
    const path = { repository };
    const asked =
      job.kind === 'import' && branch !== undefined
        ? answer(
            api.DELETE('/repositories/{repository}/branches/{branch}/import', {
              params: { path: { ...path, branch }, query: { id } },
            }),
          )
        : answer(
            api.DELETE('/repositories/{repository}/verify/{verification}', {
              params: { path: { ...path, verification: id } },
            }),
          );
    void asked.then(() => queryClient.invalidateQueries({ queryKey: ['jobs'] }), setError);
  };
  return (
    <Dialog title={names[job.kind] ?? job.kind} isOpen onClose={onClose} side>
      <div className="stack">
        <dl className="facts">
          <dt>Repository</dt>
          <dd>
            {repository === undefined ? (
              <span className="muted">{targetOf(job)}</span>
            ) : branch === undefined ? (
              <Name>{repository}</Name>
            ) : (
              <Link to="/r/$repository/$ref/data" params={{ repository, ref: branch }} search={{}}>
                <Name>{`${repository} / ${branch}`}</Name>
              </Link>
            )}
          </dd>
          <dt>State</dt>
          <dd>
            <Badge kind={badges[job.state]}>{job.state}</Badge>
          </dd>
          <dt>Progress</dt>
          <dd>{counted(job.progress, 'object')}</dd>
          <dt>Started</dt>
          <dd>
            <Time at={job.created} /> by {job.user}
          </dd>
          <dt>Changed</dt>
          <dd>
            <Time at={job.updated} />
          </dd>
          {job.error && (
            <>
              <dt>Error</dt>
              <dd>{job.error}</dd>
            </>
          )}
          <dt>Id</dt>
          <dd>
            <code>{id}</code> <CopyButton text={id} label="Copy id" />
          </dd>
        </dl>
        {error !== null && <ErrorPanel error={error} />}
        <Cancel job={job} onPress={cancel} />
      </div>
    </Dialog>
  );
}

/** Of the kinds that can be cancelled, while they run. */
function Cancel({ job, onPress }: { job: Job; onPress: () => void }) {
  const isImport = job.kind === 'import';
  const may = useMay(
    isImport ? 'fs:ImportCancel' : 'fs:VerifyRepository',
    isImport ? resource.branch(job.repository ?? '', job.branch ?? '') : resource.repository(job.repository ?? ''),
  );
  if (!isOpen(job) || job.repository === undefined || !(isImport ? job.branch !== undefined : job.kind === 'verify'))
    return null;
  return (
    <div>
      <Button kind="danger" refused={may.refused} onPress={onPress}>
        Cancel the job
      </Button>
    </div>
  );
}
