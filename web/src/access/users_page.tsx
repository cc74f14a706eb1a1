import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api, type Schemas } from '@/api/client';
import { permitted, resource, useMay } from '@/api/permissions';
import { useUser } from '@/api/session';
import { Button, IconButton } from '@/ui/button';
import { CopyButton } from '@/ui/copy_as';
import { type Column, DataTable } from '@/ui/data_table';
import { ConfirmDialog, Dialog, FormDialog } from '@/ui/dialog';
import { TextField } from '@/ui/field';
import { usePagedRows } from '@/ui/paged_rows';
import { EmptyState, ErrorPanel, Loaded, Skeleton } from '@/ui/states';
import { Badge, Name, Time } from '@/ui/text';
import { toast } from '@/ui/toast';
import { KeyPair } from '@/login/key_pair';
import { AccessFrame } from './access_frame';
import {
  accessChanged,
  groupsQuery,
  policiesQuery,
  userGroupsQuery,
  userInvitationsQuery,
  userKeysQuery,
  userPoliciesQuery,
  userPrincipalsQuery,
} from './access_queries';
import { Attached } from './attached';
import styles from './access.module.css';

type User = Schemas['User'];
const route = getRouteApi('/signed-in/admin/users');
const pageSize = 200;

/** Users, and of each its groups, policies, keys and external principals. */
export function UsersPage() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const me = useUser();
  const [creating, setCreating] = useState(false);
  const rows = usePagedRows<User>(['access', 'users', 'list', search.q ?? ''], (after, signal) =>
    permitted('auth:ListUsers', resource.all, () =>
      answer(
        api.GET('/auth/users', {
          params: { query: { after, amount: pageSize, ...(search.q ? { prefix: search.q } : {}) } },
          signal,
        }),
      ),
    ),
  );
  const may = useMay('auth:CreateUser', 'arn:lakefs:auth:::user/*');
  const columns: Column<User>[] = [
    {
      id: 'name',
      header: 'User',
      width: 'minmax(140px, 2fr)',
      cell: (row) => (
        <>
          <Link to="." search={{ ...search, user: row.id }} style={{ minWidth: 0, display: 'inline-flex' }}>
            <Name>{row.id}</Name>
          </Link>
          {row.id === me?.id && <Badge kind="neutral">you</Badge>}
        </>
      ),
    },
    {
      id: 'email',
      header: 'Name or mail',
      width: 'minmax(120px, 2fr)',
      wideOnly: true,
      cell: (row) => <Name>{row.friendly_name ?? row.email ?? ''}</Name>,
    },
    { id: 'since', header: 'Created', width: '112px', cell: (row) => <Time at={row.creation_date} /> },
  ];
  return (
    <AccessFrame
      title="Users"
      actions={
        <>
          <div style={{ width: 220, maxWidth: '100%' }}>
            <TextField
              label="Find a user"
              hideLabel
              type="search"
              placeholder="Name begins with"
              value={search.q ?? ''}
              onChange={(value) =>
                void navigate({ to: '.', search: { ...search, q: value || undefined }, replace: true })
              }
            />
          </div>
          <Button kind="primary" icon="plus" refused={may.refused} onPress={() => setCreating(true)}>
            Create user
          </Button>
        </>
      }
    >
      {rows.error && rows.count === 0 ? (
        <ErrorPanel error={rows.error} onRetry={rows.retry} />
      ) : rows.isLoading ? (
        <Skeleton rows={6} />
      ) : (
        <DataTable
          label="Users"
          fill
          columns={columns}
          count={rows.count}
          row={rows.row}
          rowKey={(row) => row.id}
          onRange={rows.onRange}
          activeKey={search.user}
          onOpen={(row) => void navigate({ to: '.', search: { ...search, user: row.id } })}
          empty={
            <EmptyState icon="user" command="tarn auth users create NAME">
              No user has such a name.
            </EmptyState>
          }
        />
      )}
      {creating && (
        <CreateUser
          onClose={() => setCreating(false)}
          onCreated={(user) => void navigate({ to: '.', search: { user } })}
        />
      )}
      {search.user !== undefined && (
        <UserDialog
          key={search.user}
          user={search.user}
          onClose={() => void navigate({ to: '.', search: { q: search.q } })}
        />
      )}
    </AccessFrame>
  );
}

function CreateUser({ onClose, onCreated }: { onClose: () => void; onCreated: (user: string) => void }) {
  const [id, setId] = useState('');
  return (
    <FormDialog
      title="Create a user"
      action="Create user"
      isOpen
      onClose={onClose}
      refused={id.trim() === '' ? 'Enter a name' : undefined}
      onSubmit={async () => {
        await answer(api.POST('/auth/users', { body: { id } }));
        accessChanged();
        onCreated(id);
      }}
    >
      <TextField
        label="Name"
        value={id}
        onChange={setId}
        autoFocus
        required
        mono
        help="The user gets rights from groups and policies, and signs in with a key pair."
      />
    </FormDialog>
  );
}

function UserDialog({ user, onClose }: { user: string; onClose: () => void }) {
  const [deleting, setDeleting] = useState(false);
  const userId = user;
  const groups = useQuery(userGroupsQuery(user));
  const allGroups = useQuery(groupsQuery);
  const policies = useQuery(userPoliciesQuery(user));
  const allPolicies = useQuery(policiesQuery);
  const mayDelete = useMay('auth:DeleteUser', `arn:lakefs:auth:::user/${user}`);
  if (deleting) {
    return (
      <ConfirmDialog
        title={`Delete ${user}?`}
        action="Delete user"
        typed={user}
        isOpen
        onClose={() => setDeleting(false)}
        onConfirm={async () => {
          await answer(api.DELETE('/auth/users/{userId}', { params: { path: { userId } } }));
          accessChanged();
          toast(`Deleted ${user}`);
          onClose();
        }}
      >
        <p>Its keys stop working at once. Commits keep its name.</p>
      </ConfirmDialog>
    );
  }
  return (
    <Dialog title={user} isOpen onClose={onClose} side>
      <div className="stack">
        <Attached
          title="Groups"
          noun="group"
          attached={groups}
          candidates={allGroups}
          show={(id) => (
            <Link to="/admin/groups" search={{ group: id }}>
              {id}
            </Link>
          )}
          attach={(groupId) =>
            answer(api.PUT('/auth/groups/{groupId}/members/{userId}', { params: { path: { groupId, userId } } }))
          }
          detach={(groupId) =>
            answer(api.DELETE('/auth/groups/{groupId}/members/{userId}', { params: { path: { groupId, userId } } }))
          }
        />
        <Attached
          title="Policies attached directly"
          noun="policy"
          attached={policies}
          candidates={allPolicies}
          show={(id) => (
            <Link to="/admin/policies" search={{ policy: id }}>
              {id}
            </Link>
          )}
          attach={(policyId) =>
            answer(api.PUT('/auth/users/{userId}/policies/{policyId}', { params: { path: { userId, policyId } } }))
          }
          detach={(policyId) =>
            answer(api.DELETE('/auth/users/{userId}/policies/{policyId}', { params: { path: { userId, policyId } } }))
          }
        />
        <Keys user={user} />
        <Principals key={user} user={user} />
        <div className="toolbar">
          <Link to="/admin/permissions" search={{ user }} className="grow" style={{ overflowWrap: 'anywhere' }}>
            What may {user} do?
          </Link>
          <Button kind="danger" icon="trash" refused={mayDelete.refused} onPress={() => setDeleting(true)}>
            Delete user…
          </Button>
        </div>
      </div>
    </Dialog>
  );
}

/** Access keys. A new one's secret is shown once, and nowhere kept. */
function Keys({ user }: { user: string }) {
  const userId = user;
  const keys = useQuery(userKeysQuery(user));
  const [made, setMade] = useState<Schemas['CredentialsWithSecret'] | null>(null);
  const [removing, setRemoving] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const create = async () => {
    setError(null);
    try {
      setMade(await answer(api.POST('/auth/users/{userId}/credentials', { params: { path: { userId } } })));
    } catch (thrown) {
      setError(thrown);
    }
    accessChanged();
  };
  return (
    <section className="stack-tight" aria-label="Access keys">
      <h3>Access keys</h3>
      <Loaded query={keys} rows={1}>
        {(items) =>
          items.length === 0 ? (
            <p className="muted">none: the user cannot sign in with a key</p>
          ) : (
            <ul className={styles.list}>
              {items.map((key) => (
                <li key={key.access_key_id}>
                  <code style={{ minWidth: 0, overflowWrap: 'anywhere' }}>{key.access_key_id}</code>
                  <Time at={key.creation_date} />
                  {key.expires_at !== undefined && (
                    <span className="muted">
                      ends <Time at={key.expires_at} />
                    </span>
                  )}
                  {key.statement && <Badge kind="neutral">with limits</Badge>}
                  <IconButton
                    icon="trash"
                    label={`Delete key ${key.access_key_id}`}
                    onPress={() => setRemoving(key.access_key_id)}
                  />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {made && (
        <div className={styles.secret} role="status">
          <strong>Copy the secret now: it is not shown again.</strong>
          <KeyPair keys={made} />
          <div>
            <Button onPress={() => setMade(null)}>I have copied it</Button>
          </div>
        </div>
      )}
      {error !== null && <ErrorPanel error={error} />}
      <div>
        <Button icon="plus" onPress={() => void create()}>
          Create key
        </Button>
      </div>
      <Invitation user={user} />
      {removing !== null && (
        <ConfirmDialog
          title="Delete the key?"
          action="Delete key"
          isOpen
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            await answer(
              api.DELETE('/auth/users/{userId}/credentials/{accessKeyId}', {
                params: { path: { userId, accessKeyId: removing } },
              }),
            );
            accessChanged();
          }}
        >
          <p>
            Programs that use <code>{removing}</code> are refused at once. This cannot be undone.
          </p>
        </ConfirmDialog>
      )}
    </section>
  );
}

/** A link with which the user makes a key: the administrator never sees the secret. */
function Invitation({ user }: { user: string }) {
  const userId = user;
  const open = useQuery(userInvitationsQuery(user)).data?.[0];
  const [made, setMade] = useState<Schemas['Invitation'] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const run = async (call: () => Promise<Schemas['Invitation'] | null>) => {
    setError(null);
    try {
      setMade(await call());
    } catch (thrown) {
      setError(thrown);
    }
    accessChanged();
  };
  const path = { params: { path: { userId } } };
  return (
    <>
      {made && (
        <div className={styles.secret} role="status">
          <strong>Send this link to {user} alone. It makes one key, and is not shown again.</strong>
          <div className="toolbar">
            <code style={{ minWidth: 0, overflowWrap: 'anywhere' }}>{made.url}</code>
            <CopyButton text={made.url} label="Copy link" />
          </div>
        </div>
      )}
      {open && (
        <p className="muted">
          A link that {open.made_by} made is open. It ends <Time at={open.expires_at} />.
        </p>
      )}
      {error !== null && <ErrorPanel error={error} />}
      <div className="toolbar">
        <Button onPress={() => void run(() => answer(api.POST('/auth/users/{userId}/invitations', path)))}>
          {open ? 'Make another link' : 'Make a link for the user'}
        </Button>
        {open && (
          <Button
            onPress={() =>
              void run(async () => {
                await answer(api.DELETE('/auth/users/{userId}/invitations', path));
                return null;
              })
            }
          >
            Withdraw the link
          </Button>
        )}
      </div>
    </>
  );
}

/** Identities of other systems, as IAM roles, that act as the user. */
function Principals({ user }: { user: string }) {
  const userId = user;
  const principals = useQuery(userPrincipalsQuery(user));
  const [name, setName] = useState('');
  const [error, setError] = useState<unknown>(null);
  const run = async (call: () => Promise<unknown>) => {
    setError(null);
    try {
      await call();
    } catch (thrown) {
      setError(thrown);
    }
    accessChanged();
  };
  return (
    <section className="stack-tight" aria-label="External principals">
      <h3>External principals</h3>
      <Loaded query={principals} rows={1}>
        {(items) =>
          items.length === 0 ? (
            <p className="muted">none</p>
          ) : (
            <ul className={styles.list}>
              {items.map((item) => (
                <li key={item.id}>
                  <code style={{ minWidth: 0, overflowWrap: 'anywhere' }}>{item.id}</code>
                  <IconButton
                    icon="close"
                    label={`Remove principal ${item.id}`}
                    onPress={() =>
                      void run(() =>
                        answer(
                          api.DELETE('/auth/users/{userId}/external/principals', {
                            params: { path: { userId }, query: { principalId: item.id } },
                          }),
                        ),
                      )
                    }
                  />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      <form
        className="toolbar"
        onSubmit={(event) => {
          event.preventDefault();
          if (name.trim() !== '')
            void run(async () => {
              await answer(
                api.POST('/auth/users/{userId}/external/principals', {
                  params: { path: { userId }, query: { principalId: name.trim() } },
                  body: {},
                }),
              );
              setName('');
            });
        }}
      >
        <div className="grow">
          <TextField
            label="Principal"
            hideLabel
            mono
            value={name}
            onChange={setName}
            placeholder="arn:aws:sts::123456789012:assumed-role/ci"
          />
        </div>
        <Button type="submit" refused={name.trim() === '' ? 'Enter a principal' : undefined}>
          Add principal
        </Button>
      </form>
      {error !== null && <ErrorPanel error={error} />}
    </section>
  );
}
