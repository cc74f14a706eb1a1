import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api, type Schemas } from '@/api/client';
import { useMay } from '@/api/permissions';
import { Button } from '@/ui/button';
import { type Column, DataTable } from '@/ui/data_table';
import { ConfirmDialog, Dialog, FormDialog } from '@/ui/dialog';
import { TextField } from '@/ui/field';
import { usePagedRows } from '@/ui/paged_rows';
import { EmptyState, ErrorPanel, Skeleton } from '@/ui/states';
import { Name, Time } from '@/ui/text';
import { toast } from '@/ui/toast';
import { AccessFrame } from './access_frame';
import { accessChanged, groupMembersQuery, groupPoliciesQuery, policiesQuery, usersQuery } from './access_queries';
import { Attached } from './attached';

type Group = Schemas['Group'];
const route = getRouteApi('/signed-in/admin/groups');
const pageSize = 200;

/** Groups, their members and their policies. */
export function GroupsPage() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const [creating, setCreating] = useState(false);
  const rows = usePagedRows<Group>(['access', 'groups', 'list'], (after, signal) =>
    answer(api.GET('/auth/groups', { params: { query: { after, amount: pageSize } }, signal })),
  );
  const may = useMay('auth:CreateGroup', 'arn:lakefs:auth:::group/*');
  const columns: Column<Group>[] = [
    {
      id: 'name',
      header: 'Group',
      width: 'minmax(140px, 2fr)',
      cell: (row) => (
        <Link to="." search={{ group: row.id }} style={{ minWidth: 0, display: 'inline-flex' }}>
          <Name>{row.id}</Name>
        </Link>
      ),
    },
    {
      id: 'description',
      header: 'Description',
      width: 'minmax(120px, 3fr)',
      wideOnly: true,
      cell: (row) => <Name>{row.description ?? ''}</Name>,
    },
    { id: 'since', header: 'Created', width: '112px', cell: (row) => <Time at={row.creation_date} /> },
  ];
  return (
    <AccessFrame
      title="Groups"
      actions={
        <Button kind="primary" icon="plus" refused={may.refused} onPress={() => setCreating(true)}>
          Create group
        </Button>
      }
    >
      {rows.error && rows.count === 0 ? (
        <ErrorPanel error={rows.error} onRetry={rows.retry} />
      ) : rows.isLoading ? (
        <Skeleton rows={6} />
      ) : (
        <DataTable
          label="Groups"
          fill
          columns={columns}
          count={rows.count}
          row={rows.row}
          rowKey={(row) => row.id}
          onRange={rows.onRange}
          activeKey={search.group}
          onOpen={(row) => void navigate({ to: '.', search: { group: row.id } })}
          empty={
            <EmptyState icon="user" command="tarn auth groups create NAME">
              There is no group.
            </EmptyState>
          }
        />
      )}
      {creating && <CreateGroup onClose={() => setCreating(false)} />}
      {search.group !== undefined && (
        <GroupDialog key={search.group} group={search.group} onClose={() => void navigate({ to: '.', search: {} })} />
      )}
    </AccessFrame>
  );
}

function CreateGroup({ onClose }: { onClose: () => void }) {
  const [id, setId] = useState('');
  const [description, setDescription] = useState('');
  return (
    <FormDialog
      title="Create a group"
      action="Create group"
      isOpen
      onClose={onClose}
      refused={id.trim() === '' ? 'Enter a name' : undefined}
      onSubmit={async () => {
        await answer(api.POST('/auth/groups', { body: { id, ...(description ? { description } : {}) } }));
        accessChanged();
      }}
    >
      <TextField label="Name" value={id} onChange={setId} autoFocus required mono />
      <TextField label="Description" value={description} onChange={setDescription} />
    </FormDialog>
  );
}

function GroupDialog({ group, onClose }: { group: string; onClose: () => void }) {
  const [deleting, setDeleting] = useState(false);
  const groupId = group;
  const members = useQuery(groupMembersQuery(group));
  const users = useQuery(usersQuery);
  const policies = useQuery(groupPoliciesQuery(group));
  const allPolicies = useQuery(policiesQuery);
  const mayDelete = useMay('auth:DeleteGroup', `arn:lakefs:auth:::group/${group}`);
  if (deleting) {
    return (
      <ConfirmDialog
        title={`Delete ${group}?`}
        action="Delete group"
        typed={group}
        isOpen
        onClose={() => setDeleting(false)}
        onConfirm={async () => {
          await answer(api.DELETE('/auth/groups/{groupId}', { params: { path: { groupId } } }));
          accessChanged();
          toast(`Deleted ${group}`);
          onClose();
        }}
      >
        <p>Its members lose the rights that they have through it, at once.</p>
      </ConfirmDialog>
    );
  }
  return (
    <Dialog title={group} isOpen onClose={onClose} side>
      <div className="stack">
        <Attached
          title="Members"
          noun="member"
          attached={members}
          candidates={users}
          show={(id) => (
            <Link to="/admin/users" search={{ user: id }}>
              {id}
            </Link>
          )}
          attach={(userId) =>
            answer(api.PUT('/auth/groups/{groupId}/members/{userId}', { params: { path: { groupId, userId } } }))
          }
          detach={(userId) =>
            answer(api.DELETE('/auth/groups/{groupId}/members/{userId}', { params: { path: { groupId, userId } } }))
          }
        />
        <Attached
          title="Policies"
          noun="policy"
          attached={policies}
          candidates={allPolicies}
          show={(id) => (
            <Link to="/admin/policies" search={{ policy: id }}>
              {id}
            </Link>
          )}
          attach={(policyId) =>
            answer(api.PUT('/auth/groups/{groupId}/policies/{policyId}', { params: { path: { groupId, policyId } } }))
          }
          detach={(policyId) =>
            answer(
              api.DELETE('/auth/groups/{groupId}/policies/{policyId}', { params: { path: { groupId, policyId } } }),
            )
          }
        />
        <div>
          <Button kind="danger" icon="trash" refused={mayDelete.refused} onPress={() => setDeleting(true)}>
            Delete group…
          </Button>
        </div>
      </div>
    </Dialog>
  );
}
