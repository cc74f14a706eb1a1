import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api } from '@/api/client';
import { resource, useMay } from '@/api/permissions';
import { shownNumber } from '@/experiments/run_values';
import { Button } from '@/ui/button';
import { CopyAs, CopyButton } from '@/ui/copy_as';
import { EmptyState, Loaded } from '@/ui/states';
import { Badge, Name, Time } from '@/ui/text';
import { DecisionDialog } from './decision_dialog';
import { winnerOf } from './evidence';
import { aliasHistoryQuery, aliasesQuery, promotionQuery, promotionsKey } from './promotion_queries';
import styles from './promotion.module.css';

const route = getRouteApi('/signed-in/r/$repository/-/aliases/$alias');

/** Newest moves whose promotions are asked for. */
const detailedMax = 20;

/** Where an alias was, who moved it and on what evidence; and the way back. */
export function AliasPage() {
  const { repository, alias } = route.useParams();
  const history = useQuery(aliasHistoryQuery(repository, alias));
  const present = useQuery(aliasesQuery(repository)).data?.results.find((item) => item.id === alias);
  const newest = history.data?.results[0];
  const promotion = useQuery({
    ...promotionQuery(repository, newest?.promotion_id ?? ''),
    enabled: newest?.promotion_id !== undefined,
  }).data;
  const mayRollBack = useMay('fs:RollBack', resource.branch(repository, promotion?.destination ?? '*'));
  const [rolling, setRolling] = useState(false);
  // The last promotion that was not undone is the one to take back.
  const standing = useQuery({
    queryKey: [...promotionsKey(repository), 'standing', alias],
    queryFn: ({ signal }) =>
      answer(
        api.GET('/repositories/{repository}/promotions', {
          params: { path: { repository }, query: { alias, amount: 100 } },
          signal,
        }),
      ),
  }).data?.results.find((item) => item.state === 'promoted' && !item.undoes);
  return (
    <div className="page">
      <div className="page-head">
        <h1 className="grow">@{alias}</h1>
        {present?.policy && standing && (
          <Button kind="danger" icon="history" refused={mayRollBack.refused} onPress={() => setRolling(true)}>
            Roll back…
          </Button>
        )}
        <CopyAs
          snippets={[
            { label: 'History', text: `tarn alias log ${alias} --repo ${repository}` },
            { label: 'Evidence', text: `tarn promote evidence @${alias} --repo ${repository} --verify` },
            { label: 'Roll back', text: `tarn promote rollback @${alias} --repo ${repository} -m why` },
            { label: 'S3 URI', text: `s3://${repository}/@${alias}/` },
          ]}
        />
      </div>
      <dl className="facts">
        <dt>Is at</dt>
        <dd>
          {present ? (
            <>
              <Link
                to="/r/$repository/-/commits/$commit"
                params={{ repository, commit: present.commit_id }}
                className="mono"
              >
                {present.commit_id.slice(0, 16)}
              </Link>{' '}
              <CopyButton text={present.commit_id} label="Copy commit id" />
            </>
          ) : (
            <span className="muted">nothing</span>
          )}
        </dd>
        {present?.policy && (
          <>
            <dt>Moved by</dt>
            <dd className={styles.inline}>
              promotions through{' '}
              <Link to="/r/$repository/-/gates/$policy" params={{ repository, policy: present.policy }}>
                {present.policy}
              </Link>
            </dd>
          </>
        )}
        {present && (
          <>
            <dt>Data</dt>
            <dd>
              <Link to="/r/$repository/$ref/data" params={{ repository, ref: `@${alias}` }} search={{}}>
                as it is served
              </Link>
            </dd>
          </>
        )}
      </dl>
      <h2>Timeline</h2>
      <Loaded query={history} rows={5}>
        {(data) =>
          data.results.length === 0 ? (
            <EmptyState icon="alias" command={`tarn alias set ${alias} main --repo ${repository} --create`}>
              It was never set.
            </EmptyState>
          ) : (
            <ol className={styles.timeline}>
              {data.results.map((change, at) => (
                <li key={change.version}>
                  <div>
                    <strong>
                      {change.to_commit_id ? (
                        <>
                          to{' '}
                          <Link
                            to="/r/$repository/-/commits/$commit"
                            params={{ repository, commit: change.to_commit_id }}
                            className="mono"
                          >
                            {change.to_commit_id.slice(0, 12)}
                          </Link>
                        </>
                      ) : (
                        'removed'
                      )}
                    </strong>
                    {change.from_commit_id && (
                      <>
                        {' '}
                        from <span className="mono">{change.from_commit_id.slice(0, 12)}</span>
                      </>
                    )}{' '}
                    <Time at={change.creation_date} /> by {change.actor}{' '}
                    {change.version === newest?.version && <Badge kind="accent">now</Badge>}
                  </div>
                  {change.promotion_id && at < detailedMax && (
                    <Winner repository={repository} promotion={change.promotion_id} />
                  )}
                  {change.reason && <div>{change.reason}</div>}
                  <div className="muted">
                    {change.promotion_id && (
                      <Link
                        to="/r/$repository/-/promotions/$promotion"
                        params={{ repository, promotion: change.promotion_id }}
                      >
                        The promotion’s record
                      </Link>
                    )}
                    {change.evidence && (
                      <>
                        {' '}
                        · evidence <code>{change.evidence.slice(0, 16)}…</code>
                      </>
                    )}
                    {change.from_commit_id && change.to_commit_id && (
                      <>
                        {' '}
                        ·{' '}
                        <Link
                          to="/r/$repository/-/compare/$left/$right"
                          params={{ repository, left: change.from_commit_id, right: change.to_commit_id }}
                        >
                          what it changed
                        </Link>
                      </>
                    )}
                  </div>
                </li>
              ))}
            </ol>
          )
        }
      </Loaded>
      {rolling && standing && (
        <DecisionDialog
          repository={repository}
          promotion={standing}
          verb="rollback"
          onClose={() => setRolling(false)}
        />
      )}
    </div>
  );
}

/** The candidate that a promotion moved the alias to, with its metrics and those of the one before. */
function Winner({ repository, promotion }: { repository: string; promotion: string }) {
  const found = useQuery(promotionQuery(repository, promotion)).data;
  const winner = found && winnerOf(found);
  if (!winner) return null;
  return (
    <div className="toolbar">
      <Name>{winner.candidate}</Name>
      {winner.values.map(({ name, value, before }) => (
        <span key={name}>
          <span className="muted">{name}</span> {shownNumber(Number(value))}
          {before !== undefined && <span className="muted"> (before {shownNumber(Number(before))})</span>}
        </span>
      ))}
    </div>
  );
}
