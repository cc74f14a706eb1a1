import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useQuery } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { answer, api } from '@/api/client';
import { permitted, resource, useMay } from '@/api/permissions';
import { queryClient } from '@/api/query_client';
import { useRepository } from '@/app/use_repository';
import { DiffCounts } from '@/changes/diff_counts';
import { objectCount, type Sides, summaryQuery } from '@/changes/diff_queries';
import { Button } from '@/ui/button';
import { type Column, DataTable } from '@/ui/data_table';
import { FormDialog } from '@/ui/dialog';
import { Select, TextField } from '@/ui/field';
import { Icon } from '@/ui/icon';
import { usePagedRows } from '@/ui/paged_rows';
import { RefPicker } from '@/ui/ref_picker';
import { EmptyState, ErrorPanel, Skeleton } from '@/ui/states';
import { Badge, Name, Time } from '@/ui/text';
import { toast } from '@/ui/toast';
import type { PullRequest } from './request_queries';

const route = getRouteApi('/signed-in/r/$repository/-/requests');
const pageSize = 200;

export function StateBadge({ status }: { status: PullRequest['status'] }) {
  return <Badge kind={status === 'open' ? 'waiting' : status === 'merged' ? 'added' : 'neutral'}>{status}</Badge>;
}

/** Pull requests of a repository. */
export function RequestsPage() {
  const { repository } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  const status = search.status ?? 'open';
  // The API lists open or all; this page separates merged from closed ones.
  const rows = usePagedRows<PullRequest>(
    ['pulls', repository, 'list', status],
    (after, signal) =>
      permitted('pr:ListPullRequests', resource.repository(repository), () =>
        answer(
          api.GET('/repositories/{repository}/pulls', {
            params: { path: { repository }, query: { after, amount: pageSize, status } },
            signal,
          }),
        ),
      ),
    { changing: (row) => row.status === 'open', grows: true },
  );
  const may = useMay('pr:WritePullRequest', resource.repository(repository));
  const close = () => void navigate({ to: '.', search: { status: search.status } });
  const columns: Column<PullRequest>[] = [
    {
      id: 'title',
      header: 'Title',
      width: 'minmax(160px, 3fr)',
      cell: (row) => (
        <>
          <Icon name="request" />
          <span className="muted">#{row.number}</span>
          <Link
            to="/r/$repository/-/requests/$request"
            params={{ repository, request: row.id }}
            search={{}}
            style={{ minWidth: 0, display: 'inline-flex' }}
          >
            <Name>{row.title || 'no title'}</Name>
          </Link>
        </>
      ),
    },
    { id: 'state', header: 'State', width: '88px', cell: (row) => <StateBadge status={row.status} /> },
    {
      id: 'source',
      header: 'From',
      width: 'minmax(96px, 1fr)',
      wideOnly: true,
      cell: (row) => <Name>{row.source_branch}</Name>,
    },
    {
      id: 'destination',
      header: 'Into',
      width: 'minmax(96px, 1fr)',
      wideOnly: true,
      cell: (row) => <Name>{row.destination_branch}</Name>,
    },
    {
      id: 'author',
      header: 'Author',
      width: 'minmax(80px, 140px)',
      wideOnly: true,
      cell: (row) => <Name>{row.author}</Name>,
    },
    { id: 'opened', header: 'Opened', width: '96px', wideOnly: true, cell: (row) => <Time at={row.creation_date} /> },
  ];
  return (
    <div className="page-full">
      <div className="page-head">
        <h1 className="grow">Pull requests</h1>
        <Select
          label="State"
          hideLabel
          value={status}
          onChange={(next) => void navigate({ to: '.', search: { status: next === 'open' ? undefined : next } })}
          options={[
            { value: 'open', label: 'Open' },
            { value: 'closed', label: 'Closed and merged' },
            { value: 'all', label: 'All' },
          ]}
        />
        <Button
          kind="primary"
          icon="plus"
          refused={may.refused}
          onPress={() => void navigate({ to: '.', search: { ...search, create: true } })}
        >
          Open a request
        </Button>
      </div>
      {rows.error && rows.count === 0 ? (
        <ErrorPanel error={rows.error} onRetry={rows.retry} />
      ) : rows.isLoading ? (
        <Skeleton rows={6} />
      ) : (
        <DataTable
          label="Pull requests"
          fill
          columns={columns}
          count={rows.count}
          row={rows.row}
          rowKey={(row) => row.id}
          onRange={rows.onRange}
          onOpen={(row) =>
            void navigate({
              to: '/r/$repository/-/requests/$request',
              params: { repository, request: row.id },
              search: {},
            })
          }
          empty={
            <EmptyState
              icon="request"
              command={`tarn pr create tarn://${repository}/BRANCH tarn://${repository}/main --title TITLE`}
              action={
                <Button
                  refused={may.refused}
                  onPress={() => void navigate({ to: '.', search: { ...search, create: true } })}
                >
                  Open a request
                </Button>
              }
            >
              {status === 'open'
                ? 'No request is open. A request asks others to look at a branch before it is merged.'
                : 'There are no such requests.'}
            </EmptyState>
          }
        />
      )}
      {search.create && (
        <OpenRequest
          key={`${search.source} ${search.destination}`}
          repository={repository}
          from={search.source}
          into={search.destination}
          onClose={close}
        />
      )}
    </div>
  );
}

function OpenRequest({
  repository,
  from,
  into,
  onClose,
}: {
  repository: string;
  from: string | undefined;
  into: string | undefined;
  onClose: () => void;
}) {
  const navigate = useNavigate();
  const base = useRepository(repository)?.default_branch ?? 'main';
  const [source, setSource] = useState(from ?? '');
  const [destination, setDestination] = useState(into ?? base);
  const [title, setTitle] = useState('');
  const [description, setDescription] = useState('');
  const sides: Sides = {
    repository,
    left: destination,
    right: source,
    type: 'three_dot',
    readLeft: destination,
    readRight: source,
  };
  const summary = useQuery({ ...summaryQuery(sides, '', ''), enabled: source !== '' && source !== destination });
  const made = useRef<string | null>(null);
  return (
    <FormDialog
      title="Open a pull request"
      action="Open request"
      isOpen
      onClose={() => {
        if (made.current !== null)
          void navigate({
            to: '/r/$repository/-/requests/$request',
            params: { repository, request: made.current },
            search: {},
          });
        else onClose();
      }}
      refused={
        source === ''
          ? 'Choose the branch to merge'
          : source === destination
            ? 'The branches are the same'
            : title.trim() === ''
              ? 'Enter a title'
              : undefined
      }
      onSubmit={async () => {
        const created = await answer(
          api.POST('/repositories/{repository}/pulls', {
            params: { path: { repository } },
            body: { title, description, source_branch: source, destination_branch: destination },
          }),
        );
        void queryClient.invalidateQueries({ queryKey: ['pulls', repository] });
        made.current = created.id;
        toast('The request is open');
      }}
    >
      <div className="toolbar">
        Merge{' '}
        <RefPicker
          repository={repository}
          label="Source branch"
          value={source || 'choose a branch'}
          onChange={setSource}
          kinds={['branch']}
        />
        into{' '}
        <RefPicker
          repository={repository}
          label="Destination branch"
          value={destination}
          onChange={setDestination}
          kinds={['branch']}
        />
      </div>
      {summary.data && (
        <p>
          {objectCount(summary.data) === 0 ? (
            <span className="muted">
              Nothing would change: {source} has no commits that {destination} lacks.
            </span>
          ) : (
            <DiffCounts of={summary.data} />
          )}
        </p>
      )}
      {summary.error && <p className="muted">{summary.error.message}</p>}
      <TextField label="Title" value={title} onChange={setTitle} required autoFocus />
      <TextField label="Description" value={description} onChange={setDescription} rows={5} />
    </FormDialog>
  );
}
