import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Fragment, useState } from 'react';
import { answer, api } from '@/api/client';
import { resource, useMay } from '@/api/permissions';
import { Holds } from '@/operations/holds';
import { Button } from '@/ui/button';
import { ConfirmDialog, FormDialog } from '@/ui/dialog';
import { TextField } from '@/ui/field';
import { IconButton } from '@/ui/button';
import { counted } from '@/ui/format';
import { Loaded } from '@/ui/states';
import { toast } from '@/ui/toast';
import { retentionQuery, type RetentionRules, settingsChanged } from './settings_queries';
import styles from './settings.module.css';

/** How long history keeps its data, and what is held whatever the rules say. */
export function Retention({ repository }: { repository: string }) {
  const rules = useQuery(retentionQuery(repository));
  const may = useMay('retention:SetGarbageCollectionRules', resource.repository(repository));
  const [action, setAction] = useState<'edit' | 'remove' | null>(null);
  return (
    <>
      <section className="stack-tight" aria-label="Retention">
        <div className="page-head">
          <h2 className="grow">Retention of history</h2>
          {rules.data && (
            <Button icon="trash" refused={may.refused} onPress={() => setAction('remove')}>
              Remove the rules…
            </Button>
          )}
          <Button icon="edit" refused={may.refused} onPress={() => setAction('edit')}>
            {rules.data ? 'Change…' : 'Set rules…'}
          </Button>
        </div>
        <p className="muted">
          Commits that are older lose their data with the next garbage collection, except heads of branches and what
          tags, aliases, runs, promotions and holds name.{' '}
          <Link to="/admin/storage" search={{ repository }}>
            The plan
          </Link>{' '}
          shows what is due.
        </p>
        <Loaded query={rules} rows={2}>
          {(data) =>
            data === null ? (
              <p>No rules: nothing expires that a ref leads to.</p>
            ) : (
              <dl className="facts">
                {data.branches.map((rule) => (
                  <Fragment key={rule.branch_id}>
                    <dt className="mono">{rule.branch_id}</dt>
                    <dd>{counted(rule.retention_days, 'day')}</dd>
                  </Fragment>
                ))}
                <dt>{data.branches.length > 0 ? 'All others' : 'All branches'}</dt>
                <dd>{counted(data.default_retention_days, 'day')}</dd>
              </dl>
            )
          }
        </Loaded>
      </section>
      <Holds repository={repository} />
      {action === 'edit' && rules.data !== undefined && (
        <EditRules repository={repository} present={rules.data} onClose={() => setAction(null)} />
      )}
      {action === 'remove' && (
        <ConfirmDialog
          title="Remove the rules of retention?"
          action="Remove rules"
          isOpen
          onClose={() => setAction(null)}
          onConfirm={async () => {
            await answer(
              api.DELETE('/repositories/{repository}/settings/gc_rules', { params: { path: { repository } } }),
            );
            settingsChanged(repository);
          }}
        >
          <p>Nothing more expires. What has expired already does not come back.</p>
        </ConfirmDialog>
      )}
    </>
  );
}

const daysMax = 36_500;

function days(text: string): number | undefined {
  const value = Number(text);
  return text.trim() !== '' && Number.isInteger(value) && value >= 1 && value <= daysMax ? value : undefined;
}

function EditRules({
  repository,
  present,
  onClose,
}: {
  repository: string;
  present: RetentionRules | null;
  onClose: () => void;
}) {
  const [common, setCommon] = useState(String(present?.default_retention_days ?? 90));
  const [branches, setBranches] = useState(
    (present?.branches ?? []).map((rule) => ({ name: rule.branch_id, days: String(rule.retention_days) })),
  );
  const rows = branches[branches.length - 1]?.name === '' ? branches : [...branches, { name: '', days: '' }];
  const named = branches.filter((row) => row.name.trim() !== '');
  const wrong = days(common) === undefined || named.some((row) => days(row.days) === undefined);
  const change = (index: number, row: { name: string; days: string }) =>
    setBranches(rows.map((other, at) => (at === index ? row : other)));
  return (
    <FormDialog
      title={`Retention in ${repository}`}
      action="Save"
      danger
      isOpen
      onClose={onClose}
      refused={
        wrong
          ? `Days are 1 to ${daysMax}`
          : new Set(named.map((row) => row.name)).size < named.length
            ? 'A branch is there twice'
            : undefined
      }
      onSubmit={async () => {
        await answer(
          api.PUT('/repositories/{repository}/settings/gc_rules', {
            params: { path: { repository } },
            body: {
              default_retention_days: days(common)!,
              branches: named.map((row) => ({ branch_id: row.name.trim(), retention_days: days(row.days)! })),
            },
          }),
        );
        settingsChanged(repository);
        toast('The rules hold from the next collection on');
      }}
    >
      <p>What is older than these days loses its data with the next collection, and nothing brings it back.</p>
      <TextField
        label="Days"
        type="number"
        value={common}
        onChange={setCommon}
        autoFocus
        required
        help="Of all branches that have no days of their own"
      />
      <fieldset className="stack-tight" style={{ border: 0, padding: 0, margin: 0, minWidth: 0 }}>
        <legend style={{ fontWeight: 500, padding: '0 0 4px' }}>Branches with days of their own</legend>
        {rows.map((row, index) => (
          <div key={index} className={styles.days}>
            <TextField
              label={`Branch ${index + 1}`}
              hideLabel
              mono
              value={row.name}
              placeholder="scratch"
              onChange={(name) => change(index, { ...row, name })}
            />
            <TextField
              label={`Days of branch ${index + 1}`}
              hideLabel
              type="number"
              value={row.days}
              placeholder="days"
              onChange={(text) => change(index, { ...row, days: text })}
            />
            {row.name === '' ? (
              <span />
            ) : (
              <IconButton
                icon="close"
                label={`Remove branch ${index + 1}`}
                onPress={() => setBranches(rows.filter((_, at) => at !== index))}
              />
            )}
          </div>
        ))}
      </fieldset>
    </FormDialog>
  );
}
