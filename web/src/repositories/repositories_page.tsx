import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api, type Schemas } from '@/api/client';
import { ApiError } from '@/api/errors';
import { resource, useMay } from '@/api/permissions';
import { Button, IconButton } from '@/ui/button';
import { type Column, DataTable } from '@/ui/data_table';
import { TextField } from '@/ui/field';
import { Menu, MenuItem, MenuSeparator, PermittedItem } from '@/ui/menu';
import { usePagedRows } from '@/ui/paged_rows';
import { EmptyState, ErrorPanel, Skeleton } from '@/ui/states';
import { Badge, Bytes, Name, Time } from '@/ui/text';
import { CreateRepository } from './create_repository';
import { DeleteRepository } from './delete_repository';
import { ImportWizard } from './import_wizard';
import { copyText } from '@/ui/copy_as';

type Repository = Schemas['Repository'];

const pageSize = 200;
const detailsStaleMs = 60_000;
const route = getRouteApi('/signed-in/');

export function RepositoriesPage() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: '/' });
  const [deleting, setDeleting] = useState<string | null>(null);
  const [importing, setImporting] = useState<Repository | null>(null);
  const q = search.q ?? '';
  const rows = usePagedRows<Repository>(['repositories', q], (after, signal) =>
    answer(
      api.GET('/repositories', { params: { query: { after, amount: pageSize, ...(q ? { search: q } : {}) } }, signal }),
    ),
  );
  const mayCreate = useMay('fs:CreateRepository', 'arn:lakefs:fs:::repository/*');

  const columns: Column<Repository>[] = [
    {
      id: 'name',
      header: 'Name',
      width: 'minmax(180px, 2fr)',
      cell: (row) => (
        <>
          <Link to="/r/$repository/$ref/data" params={{ repository: row.id, ref: row.default_branch }} search={{}}>
            <Name>{row.id}</Name>
          </Link>
          {row.read_only && <Badge kind="neutral">read-only</Badge>}
        </>
      ),
    },
    {
      id: 'branch',
      header: 'Default branch',
      width: 'minmax(120px, 1fr)',
      wideOnly: true,
      cell: (row) => <Name>{row.default_branch}</Name>,
    },
    { id: 'size', header: 'Size', width: '96px', numeric: true, cell: (row) => <Size of={row} /> },
    {
      id: 'changed',
      header: 'Last commit',
      width: 'minmax(180px, 2fr)',
      wideOnly: true,
      cell: (row) => <LastCommit of={row} />,
    },
    {
      id: 'storage',
      header: 'Storage',
      width: 'minmax(160px, 2fr)',
      wideOnly: true,
      cell: (row) => (
        <span className="muted" style={{ minWidth: 0 }}>
          <Name mono>{row.storage_namespace}</Name>
        </span>
      ),
    },
    {
      id: 'actions',
      header: 'Actions',
      hideHeader: true,
      width: '48px',
      cell: (row) => (
        <Menu label={`Actions of ${row.id}`} trigger={<IconButton icon="more" label={`Actions of ${row.id}`} />}>
          <MenuItem
            icon="download"
            onAction={() => setImporting(row)}
            refused={row.read_only ? 'The repository is read-only' : undefined}
          >
            Import data…
          </MenuItem>
          <MenuItem
            icon="settings"
            onAction={() => void navigate({ to: '/r/$repository/-/settings', params: { repository: row.id } })}
          >
            Settings
          </MenuItem>
          <MenuItem
            icon="copy"
            detail={`tarn://${row.id}/${row.default_branch}`}
            onAction={() => void copyText(`tarn://${row.id}/${row.default_branch}`)}
          >
            Copy tarn URI
          </MenuItem>
          <MenuSeparator />
          <PermittedItem
            action="fs:DeleteRepository"
            on={resource.repository(row.id)}
            icon="trash"
            danger
            onAction={() => setDeleting(row.id)}
          >
            Delete…
          </PermittedItem>
        </Menu>
      ),
    },
  ];
  return (
    <div className="page-full">
      <div className="page-head">
        <h1 className="grow">Repositories</h1>
        <div style={{ width: 260, maxWidth: '100%' }}>
          <TextField
            label="Search repositories"
            hideLabel
            type="search"
            placeholder="Name or key=value"
            value={q}
            onChange={(value) => void navigate({ search: { q: value || undefined }, replace: true })}
          />
        </div>
        <Button
          icon="plus"
          kind="primary"
          refused={mayCreate.refused}
          onPress={() => void navigate({ search: { ...search, create: true } })}
        >
          Create repository
        </Button>
      </div>
      {rows.error && rows.count === 0 ? (
        <ErrorPanel error={rows.error} onRetry={rows.retry} />
      ) : rows.isLoading ? (
        <Skeleton rows={6} />
      ) : (
        <DataTable
          label="Repositories"
          fill
          columns={columns}
          count={rows.count}
          row={rows.row}
          rowKey={(row) => row.id}
          onRange={rows.onRange}
          onOpen={(row) =>
            void navigate({
              to: '/r/$repository/$ref/data',
              params: { repository: row.id, ref: row.default_branch },
              search: {},
            })
          }
          empty={
            q ? (
              <EmptyState
                icon="search"
                action={<Button onPress={() => void navigate({ search: {} })}>Show all</Button>}
              >
                No repository has "{q}" in its {q.includes('=') ? 'metadata' : 'name'}.
              </EmptyState>
            ) : (
              <EmptyState
                icon="data"
                command="tarn repo create tarn://digits local://digits"
                action={
                  <Button
                    icon="plus"
                    refused={mayCreate.refused}
                    onPress={() => void navigate({ search: { create: true } })}
                  >
                    Create the first repository
                  </Button>
                }
              >
                A repository holds the branches of one data lake. There is none yet that you may see.
              </EmptyState>
            )
          }
        />
      )}
      <CreateRepository isOpen={search.create === true} onClose={() => void navigate({ search: { q: search.q } })} />
      {deleting !== null && <DeleteRepository repository={deleting} onClose={() => setDeleting(null)} />}
      {importing && (
        <ImportWizard repository={importing.id} branch={importing.default_branch} onClose={() => setImporting(null)} />
      )}
    </div>
  );
}

function Size({ of }: { of: Repository }) {
  const usage = useQuery({
    queryKey: ['usage', of.id, of.default_branch],
    staleTime: detailsStaleMs,
    queryFn: ({ signal }) =>
      answer(
        api.GET('/repositories/{repository}/usage', {
          params: { path: { repository: of.id }, query: { ref: of.default_branch } },
          signal,
        }),
      ),
  });
  if (usage.error) return <Refused error={usage.error} />;
  return <Bytes of={usage.data?.logical?.bytes} />;
}

function LastCommit({ of }: { of: Repository }) {
  const log = useQuery({
    queryKey: ['last-commit', of.id, of.default_branch],
    staleTime: detailsStaleMs,
    queryFn: ({ signal }) =>
      answer(
        api.GET('/repositories/{repository}/refs/{ref}/commits', {
          params: { path: { repository: of.id, ref: of.default_branch }, query: { amount: 1 } },
          signal,
        }),
      ),
  });
  if (log.error) return <Refused error={log.error} />;
  const commit = log.data?.results[0];
  if (!commit) return null;
  return (
    <>
      <Time at={commit.creation_date} />
      <span className="muted" style={{ minWidth: 0 }}>
        <Name>{commit.message || 'no message'}</Name>
      </span>
    </>
  );
}

function Refused({ error }: { error: Error }) {
  return (
    <span className="muted" title={error.message}>
      {error instanceof ApiError && error.isRefused ? 'not permitted' : 'unknown'}
    </span>
  );
}
