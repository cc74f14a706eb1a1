import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api, type Schemas } from '@/api/client';
import { resource, useMay } from '@/api/permissions';
import { queryClient } from '@/api/query_client';
import { nameProblem } from '@/repositories/create_repository';
import { Button } from '@/ui/button';
import { type Column, DataTable } from '@/ui/data_table';
import { FormDialog } from '@/ui/dialog';
import { TextField } from '@/ui/field';
import { usePagedRows } from '@/ui/paged_rows';
import { EmptyState, ErrorPanel, Skeleton } from '@/ui/states';
import { Name, Time } from '@/ui/text';
import { toast } from '@/ui/toast';
import { OperationsFrame } from './operations_frame';

type Deleted = Schemas['DeletedRepository'];
const pageSize = 200;

/** Repositories that were deleted and can be restored. */
export function DeletedPage() {
  const rows = usePagedRows<Deleted>(['repositories', 'deleted'], (after, signal) =>
    answer(api.GET('/deleted_repositories', { params: { query: { after, amount: pageSize } }, signal })),
  );
  const [restoring, setRestoring] = useState<Deleted | null>(null);
  const columns: Column<Deleted>[] = [
    { id: 'name', header: 'Name', width: 'minmax(96px, 2fr)', cell: (row) => <Name>{row.name}</Name> },
    {
      id: 'deleted',
      header: 'Deleted',
      width: '120px',
      wideOnly: true,
      cell: (row) => <Time at={row.deletion_date} />,
    },
    { id: 'purge', header: 'Restorable until', width: '112px', cell: (row) => <Time at={row.purge_date} /> },
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
      header: 'Restore',
      hideHeader: true,
      width: '104px',
      cell: (row) => <Restore of={row} onPress={() => setRestoring(row)} />,
    },
  ];
  return (
    <OperationsFrame title="Deleted repositories">
      {rows.error && rows.count === 0 ? (
        <ErrorPanel error={rows.error} onRetry={rows.retry} />
      ) : rows.isLoading ? (
        <Skeleton rows={6} />
      ) : (
        <DataTable
          label="Deleted repositories"
          columns={columns}
          count={rows.count}
          row={rows.row}
          rowKey={(row) => row.id}
          onRange={rows.onRange}
          fill
          empty={
            <EmptyState icon="trash" command="tarn repo list --deleted">
              No deleted repository can be restored.
            </EmptyState>
          }
        />
      )}
      {restoring && <RestoreDialog of={restoring} onClose={() => setRestoring(null)} />}
    </OperationsFrame>
  );
}

function Restore({ of, onPress }: { of: Deleted; onPress: () => void }) {
  const may = useMay('fs:DeleteRepository', resource.repository(of.name));
  return (
    <Button kind="quiet" aria-label={`Restore ${of.name}`} refused={may.refused} onPress={onPress}>
      Restore…
    </Button>
  );
}

function RestoreDialog({ of, onClose }: { of: Deleted; onClose: () => void }) {
  const navigate = useNavigate();
  const [name, setName] = useState(of.name);
  return (
    <FormDialog
      title={`Restore ${of.name}`}
      action="Restore"
      isOpen
      onClose={onClose}
      refused={name === '' ? 'Enter a name' : nameProblem(name) ? 'The name is not allowed' : undefined}
      onSubmit={async () => {
        const restored = await answer(
          api.POST('/repositories/{repository}/undelete', {
            params: { path: { repository: of.name } },
            body: { id: of.id, ...(name === of.name ? {} : { as: name }) },
          }),
        );
        await queryClient.invalidateQueries({ queryKey: ['repositories'] });
        toast(`Repository ${restored.id} is back`);
        await navigate({
          to: '/r/$repository/$ref/data',
          params: { repository: restored.id, ref: restored.default_branch },
          search: {},
        });
      }}
    >
      <p>Brings back all branches, tags, commits and uncommitted changes as they were.</p>
      <TextField
        label="Name from now on"
        value={name}
        onChange={setName}
        mono
        autoFocus
        error={nameProblem(name)}
        help="Another one if a repository has the name by now"
      />
    </FormDialog>
  );
}
