import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useId, useState } from 'react';
import { answer, api, type Schemas } from '@/api/client';
import { useMay } from '@/api/permissions';
import { Button, IconButton } from '@/ui/button';
import { type Column, DataTable } from '@/ui/data_table';
import { ConfirmDialog, FormDialog } from '@/ui/dialog';
import { Select, TextField } from '@/ui/field';
import { counted } from '@/ui/format';
import { usePagedRows } from '@/ui/paged_rows';
import { EmptyState, ErrorPanel, Loaded, Skeleton } from '@/ui/states';
import { Name, Time } from '@/ui/text';
import { toast } from '@/ui/toast';
import { AccessFrame } from './access_frame';
import { accessChanged, policyQuery } from './access_queries';
import { actionPatterns, actions, isKnownAction } from './actions';
import styles from './access.module.css';

type Policy = Schemas['Policy'];
type Statement = Schemas['Statement'];
const route = getRouteApi('/signed-in/admin/policies');
const pageSize = 200;

/** Policies with an editor of their statements. */
export function PoliciesPage() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const [creating, setCreating] = useState(false);
  const [deleting, setDeleting] = useState<string | null>(null);
  const rows = usePagedRows<Policy>(['access', 'policies', 'list'], (after, signal) =>
    answer(api.GET('/auth/policies', { params: { query: { after, amount: pageSize } }, signal })),
  );
  const may = useMay('auth:CreatePolicy', 'arn:lakefs:auth:::policy/*');
  const columns: Column<Policy>[] = [
    {
      id: 'name',
      header: 'Policy',
      width: 'minmax(140px, 2fr)',
      cell: (row) => (
        <Link to="." search={{ policy: row.id }} style={{ minWidth: 0, display: 'inline-flex' }}>
          <Name>{row.id}</Name>
        </Link>
      ),
    },
    {
      id: 'statements',
      header: 'Statements',
      width: 'minmax(120px, 3fr)',
      wideOnly: true,
      cell: (row) => <Name>{row.statement.map((item) => `${item.effect} ${item.action.join(' ')}`).join('; ')}</Name>,
    },
    {
      id: 'since',
      header: 'Created',
      width: '112px',
      wideOnly: true,
      cell: (row) => (row.creation_date === undefined ? null : <Time at={row.creation_date} />),
    },
    {
      id: 'actions',
      header: 'Actions',
      hideHeader: true,
      width: '48px',
      cell: (row) => <IconButton icon="trash" label={`Delete ${row.id}`} onPress={() => setDeleting(row.id)} />,
    },
  ];
  return (
    <AccessFrame
      title="Policies"
      actions={
        <Button kind="primary" icon="plus" refused={may.refused} onPress={() => setCreating(true)}>
          Create policy
        </Button>
      }
    >
      {rows.error && rows.count === 0 ? (
        <ErrorPanel error={rows.error} onRetry={rows.retry} />
      ) : rows.isLoading ? (
        <Skeleton rows={6} />
      ) : (
        <DataTable
          label="Policies"
          fill
          columns={columns}
          count={rows.count}
          row={rows.row}
          rowKey={(row) => row.id}
          onRange={rows.onRange}
          activeKey={search.policy}
          onOpen={(row) => void navigate({ to: '.', search: { policy: row.id } })}
          empty={
            <EmptyState icon="user" command="tarn auth policies create NAME FILE">
              There is no policy.
            </EmptyState>
          }
        />
      )}
      {creating && <EditPolicy onClose={() => setCreating(false)} />}
      {search.policy !== undefined && (
        <LoadedPolicy key={search.policy} id={search.policy} onClose={() => void navigate({ to: '.', search: {} })} />
      )}
      {deleting !== null && (
        <ConfirmDialog
          title={`Delete ${deleting}?`}
          action="Delete policy"
          isOpen
          onClose={() => setDeleting(null)}
          onConfirm={async () => {
            await answer(api.DELETE('/auth/policies/{policyId}', { params: { path: { policyId: deleting } } }));
            accessChanged();
            toast(`Deleted ${deleting}`);
          }}
        >
          <p>Users and groups that have it lose what it allows, and are no longer bound by what it denies, at once.</p>
        </ConfirmDialog>
      )}
    </AccessFrame>
  );
}

function LoadedPolicy({ id, onClose }: { id: string; onClose: () => void }) {
  const policy = useQuery(policyQuery(id));
  return (
    <Loaded query={policy} rows={0}>
      {(data) => <EditPolicy policy={data} onClose={onClose} />}
    </Loaded>
  );
}

const emptyStatement: Statement = { effect: 'allow', action: [], resource: '*' };

function EditPolicy({ policy, onClose }: { policy?: Policy; onClose: () => void }) {
  const [id, setId] = useState(policy?.id ?? '');
  const [statements, setStatements] = useState<Statement[]>(policy?.statement ?? [emptyStatement]);
  const may = useMay('auth:UpdatePolicy', `arn:lakefs:auth:::policy/${policy?.id ?? '*'}`);
  const incomplete =
    statements.length === 0 || statements.some((item) => item.action.length === 0 || item.resource.trim() === '');
  const change = (at: number, next: Statement) =>
    setStatements(statements.map((item, index) => (index === at ? next : item)));
  return (
    <FormDialog
      wide
      title={policy ? `Policy ${policy.id}` : 'Create a policy'}
      action={policy ? 'Save policy' : 'Create policy'}
      isOpen
      onClose={onClose}
      refused={
        policy && may.refused
          ? may.refused
          : id.trim() === ''
            ? 'Enter a name'
            : incomplete
              ? 'Each statement needs an action and a resource'
              : undefined
      }
      onSubmit={async () => {
        if (policy)
          await answer(
            api.PUT('/auth/policies/{policyId}', {
              params: { path: { policyId: policy.id } },
              body: { id: policy.id, statement: statements },
            }),
          );
        else await answer(api.POST('/auth/policies', { body: { id, statement: statements } }));
        accessChanged();
        toast(policy ? `Saved ${id}` : `Created ${id}`);
      }}
    >
      {!policy && <TextField label="Name" value={id} onChange={setId} autoFocus required mono />}
      <p className="muted">
        {counted(statements.length, 'statement')}. A statement that denies wins over all that allow.
      </p>
      {statements.map((item, at) => (
        <EditStatement
          key={at}
          number={at + 1}
          statement={item}
          onChange={(next) => change(at, next)}
          onRemove={() => setStatements(statements.filter((_, index) => index !== at))}
        />
      ))}
      <div>
        <Button icon="plus" onPress={() => setStatements([...statements, emptyStatement])}>
          Add statement
        </Button>
      </div>
      <details>
        <summary>As JSON</summary>
        <pre className={styles.json} tabIndex={0}>
          {JSON.stringify({ id, statement: statements }, null, 2)}
        </pre>
      </details>
    </FormDialog>
  );
}

function EditStatement({
  number,
  statement,
  onChange,
  onRemove,
}: {
  number: number;
  statement: Statement;
  onChange: (statement: Statement) => void;
  onRemove: () => void;
}) {
  const [typed, setTyped] = useState('');
  const list = useId();
  const add = (action: string) => {
    const wanted = action.trim();
    if (wanted !== '' && !statement.action.includes(wanted))
      onChange({ ...statement, action: [...statement.action, wanted] });
    setTyped('');
  };
  return (
    <fieldset className={styles.statement}>
      <legend>Statement {number}</legend>
      <div className="toolbar">
        <Select
          label={`Effect of statement ${number}`}
          hideLabel
          value={statement.effect}
          onChange={(effect) => onChange({ ...statement, effect })}
          options={[
            { value: 'allow', label: 'Allow' },
            { value: 'deny', label: 'Deny' },
          ]}
        />
        <span className="grow" />
        <IconButton icon="trash" label={`Remove statement ${number}`} onPress={onRemove} />
      </div>
      <div className={styles.chosen}>
        {statement.action.map((action) => (
          <span
            key={action}
            className={`${styles.chip} ${isKnownAction(action) ? '' : styles.unknown}`}
            title={isKnownAction(action) ? undefined : 'This server has no such action'}
          >
            {action}
            {!isKnownAction(action) && <span className="visually-hidden"> (unknown)</span>}
            <button
              type="button"
              aria-label={`Remove ${action}`}
              onClick={() => onChange({ ...statement, action: statement.action.filter((other) => other !== action) })}
            >
              ×
            </button>
          </span>
        ))}
      </div>
      <ActionField
        id={list}
        label={`Add action to statement ${number}`}
        value={typed}
        onChange={(value) => ((actions as readonly string[]).includes(value) ? add(value) : setTyped(value))}
        onEnter={() => add(typed)}
      />
      <TextField
        label={`Resource of statement ${number}`}
        mono
        value={statement.resource}
        onChange={(value) => onChange({ ...statement, resource: value })}
        help="* or arn:lakefs:fs:::repository/NAME/object/data/*"
      />
      {statement.condition && <p className="muted">It has conditions, which are kept; the JSON below shows them.</p>}
    </fieldset>
  );
}

/** A field that completes actions. */
export function ActionField({
  id,
  label,
  value,
  onChange,
  onEnter,
  help,
}: {
  id: string;
  label: string;
  value: string;
  onChange: (value: string) => void;
  onEnter?: () => void;
  help?: string;
}) {
  return (
    <div className="stack-tight" style={{ gap: 4 }}>
      <label htmlFor={`${id}-field`}>{label}</label>
      <input
        id={`${id}-field`}
        list={id}
        className="mono"
        style={{
          minHeight: 32,
          padding: '5px 8px',
          border: '1px solid var(--border-strong)',
          borderRadius: 4,
          background: 'var(--bg)',
          width: '100%',
        }}
        value={value}
        autoComplete="off"
        spellCheck={false}
        placeholder="fs:ReadObject"
        onChange={(event) => onChange(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && onEnter) {
            event.preventDefault();
            onEnter();
          }
        }}
      />
      {help && <span className="muted">{help}</span>}
      <datalist id={id}>
        {[...actions, ...actionPatterns].map((action) => (
          <option key={action} value={action} />
        ))}
      </datalist>
    </div>
  );
}
