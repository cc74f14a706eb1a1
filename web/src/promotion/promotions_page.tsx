import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api } from '@/api/client';
import { resource, useMay } from '@/api/permissions';
import { Button, buttonClass } from '@/ui/button';
import { CopyAs } from '@/ui/copy_as';
import { type Column, DataTable } from '@/ui/data_table';
import { Checkbox } from '@/ui/field';
import { usePagedRows } from '@/ui/paged_rows';
import { EmptyState, ErrorPanel, Loaded, Skeleton } from '@/ui/states';
import { Badge, Name, Time } from '@/ui/text';
import { isOpen, stateKind, stateWords } from './evidence';
import { fieldOf } from './policy_document';
import { PromoteDialog } from './promote_dialog';
import { aliasesQuery, type GatePolicy, policiesQuery, type Promotion, promotionsKey } from './promotion_queries';
import styles from './promotion.module.css';

const route = getRouteApi('/signed-in/r/$repository/-/promotions');
const pageSize = 100;

export function PromotionsPage() {
  const { repository } = route.useParams();
  const { open } = route.useSearch();
  const navigate = useNavigate();
  const [promoting, setPromoting] = useState<GatePolicy | null>(null);
  const policies = useQuery(policiesQuery(repository));
  const aliases = useQuery(aliasesQuery(repository));
  const maySet = useMay('branches:SetGatePolicy', resource.repository(repository));
  const rows = usePagedRows<Promotion>(
    [...promotionsKey(repository), 'list', open ?? false],
    (after, signal) =>
      answer(
        api.GET('/repositories/{repository}/promotions', {
          params: { path: { repository }, query: { after, amount: pageSize, ...(open ? { open } : {}) } },
          signal,
        }),
      ),
    { changing: (row) => isOpen(row.state), grows: true },
  );
  const columns: Column<Promotion>[] = [
    {
      id: 'state',
      header: 'State',
      width: '144px',
      cell: (row) => <Badge kind={stateKind(row.state)}>{stateWords[row.state]}</Badge>,
    },
    {
      id: 'what',
      header: 'What',
      width: 'minmax(112px, 2fr)',
      cell: (row) => (
        <Link
          to="/r/$repository/-/promotions/$promotion"
          params={{ repository, promotion: row.id }}
          style={{ minWidth: 0 }}
        >
          <Name>{titleOf(row)}</Name>
        </Link>
      ),
    },
    {
      id: 'alias',
      header: 'Alias',
      width: 'minmax(96px, 1fr)',
      wideOnly: true,
      cell: (row) => (row.alias ? <Name>{`@${row.alias}`}</Name> : null),
    },
    {
      id: 'why',
      header: 'Message or reason',
      width: 'minmax(160px, 3fr)',
      wideOnly: true,
      cell: (row) => (
        <span className="muted" style={{ minWidth: 0 }}>
          <Name>{row.message || row.reason || ''}</Name>
        </span>
      ),
    },
    { id: 'actor', header: 'By', width: '120px', wideOnly: true, cell: (row) => <Name>{row.actor}</Name> },
    { id: 'when', header: 'Started', width: '96px', cell: (row) => <Time at={row.created_at} /> },
  ];
  return (
    <div className="page">
      <div className="page-head">
        <h1 className="grow">Promotion</h1>
        <Button
          icon="plus"
          refused={maySet.refused}
          onPress={() =>
            void navigate({
              to: '/r/$repository/-/gates/$policy',
              params: { repository, policy: '-new' },
              search: { view: 'edit' },
            })
          }
        >
          New gate
        </Button>
        <CopyAs
          snippets={[
            { label: 'Gates', text: `tarn policy ls ${repository}` },
            { label: 'Promotions', text: `tarn promote ls ${repository}${open ? ' --open' : ''}` },
          ]}
        />
      </div>
      <h2>Gates</h2>
      <Loaded query={policies}>
        {(data) =>
          data.results.length === 0 ? (
            <EmptyState
              icon="promote"
              command={`tarn policy apply --repo ${repository} -f policy.yaml`}
              action={
                <Button
                  icon="plus"
                  refused={maySet.refused}
                  onPress={() =>
                    void navigate({
                      to: '/r/$repository/-/gates/$policy',
                      params: { repository, policy: '-new' },
                      search: { view: 'edit' },
                    })
                  }
                >
                  Write the first gate
                </Button>
              }
            >
              A gate says what a candidate must show before it reaches a branch. No branch has one yet.
            </EmptyState>
          ) : (
            <ul className={styles.gates}>
              {data.results.map((policy) => (
                <Gate
                  key={policy.name}
                  repository={repository}
                  policy={policy}
                  commit={aliases.data?.results.find((alias) => alias.policy === policy.name)?.commit_id}
                  onPromote={() => setPromoting(policy)}
                />
              ))}
            </ul>
          )
        }
      </Loaded>
      {(aliases.data?.results.length ?? 0) > 0 && (
        <>
          <h2>Aliases</h2>
          <ul className={styles.aliases}>
            {aliases.data!.results.map((alias) => (
              <li key={alias.id}>
                <Link to="/r/$repository/-/aliases/$alias" params={{ repository, alias: alias.id }}>
                  @{alias.id}
                </Link>{' '}
                <span className="mono muted">{alias.commit_id.slice(0, 12)}</span>
              </li>
            ))}
          </ul>
        </>
      )}
      <div className="page-head">
        <h2 className="grow">Promotions</h2>
        <Checkbox
          checked={open === true}
          onChange={(checked) =>
            void navigate({
              to: '/r/$repository/-/promotions',
              params: { repository },
              search: { open: checked || undefined },
            })
          }
        >
          Only those that have not ended
        </Checkbox>
      </div>
      {rows.error && rows.loaded === 0 ? (
        <ErrorPanel error={rows.error} onRetry={rows.retry} />
      ) : rows.isLoading ? (
        <Skeleton rows={4} />
      ) : (
        <DataTable
          label="Promotions"
          columns={columns}
          count={rows.count}
          row={rows.row}
          rowKey={(row) => row.id}
          onRange={rows.onRange}
          onOpen={(row) =>
            void navigate({ to: '/r/$repository/-/promotions/$promotion', params: { repository, promotion: row.id } })
          }
          empty={
            <EmptyState icon="promote" command={`tarn promote 'exp-*' --to main --repo ${repository} --wait`}>
              {open ? 'No promotion is open.' : 'Nothing was promoted yet.'}
            </EmptyState>
          }
        />
      )}
      {promoting && (
        <PromoteDialog
          repository={repository}
          policy={promoting}
          alias={fieldOf(promoting.document ?? '', ['alias'])}
          candidates={fieldOf(promoting.document ?? '', ['candidates'])}
          onClose={() => setPromoting(null)}
        />
      )}
    </div>
  );
}

export function titleOf(promotion: Promotion): string {
  if (promotion.undoes) return `roll back ${promotion.destination}`;
  return `${promotion.winner?.ref ?? promotion.candidates.join(', ')} to ${promotion.destination}`;
}

function Gate({
  repository,
  policy,
  commit,
  onPromote,
}: {
  repository: string;
  policy: GatePolicy;
  commit: string | undefined;
  onPromote: () => void;
}) {
  const alias = fieldOf(policy.document ?? '', ['alias']);
  const may = useMay('fs:Promote', resource.branch(repository, policy.destination ?? ''));
  return (
    <li className="panel">
      <h3>
        <Link to="/r/$repository/-/gates/$policy" params={{ repository, policy: policy.name }}>
          {policy.name}
        </Link>
      </h3>
      <dl className="facts">
        <dt>Protects</dt>
        <dd>{policy.destination}</dd>
        <dt>Champion</dt>
        <dd>
          {alias ? (
            <>
              <Link to="/r/$repository/-/aliases/$alias" params={{ repository, alias }}>
                @{alias}
              </Link>{' '}
              {commit ? (
                <span className="mono muted">{commit.slice(0, 12)}</span>
              ) : (
                <span className="muted">none yet</span>
              )}
            </>
          ) : (
            <span className="muted">no alias</span>
          )}
        </dd>
        <dt>Version</dt>
        <dd>
          {policy.version}, <Time at={policy.creation_date} /> by {policy.author}
        </dd>
      </dl>
      <div className="toolbar">
        <Button kind="primary" icon="promote" refused={may.refused} onPress={onPromote}>
          Promote…
        </Button>
        <Link
          to="/r/$repository/-/gates/$policy"
          params={{ repository, policy: policy.name }}
          className={buttonClass()}
        >
          Who would pass
        </Link>
      </div>
    </li>
  );
}
