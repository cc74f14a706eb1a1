import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { answer, api } from '@/api/client';
import { buttonClass } from '@/ui/button';
import { CopyAs, CopyButton } from '@/ui/copy_as';
import { shellWord } from '@/ui/snippets';
import { ErrorPanel, Loaded } from '@/ui/states';
import { Badge, Bytes, Name, Time } from '@/ui/text';
import { useRepository } from '@/app/use_repository';
import { Curves } from './curves';
import { runQuery, standardsQuery } from './run_queries';
import {
  columnsOf,
  isLive,
  isMetric,
  isParam,
  type ListedRun,
  nameOf,
  shownNumber,
  shownValue,
  valueOf,
} from './run_values';
import { Delta, StateBadge } from './runs_table';
import { useState } from 'react';
import type { RunsSearch } from './runs_search';
import styles from './experiments.module.css';

const route = getRouteApi('/signed-in/r/$repository/-/runs/$run');
const artifactsMax = 100;

export function RunPage() {
  const { repository, run: id } = route.useParams();
  const run = useQuery(runQuery(repository, id));
  return (
    <div className="page">
      <Loaded
        query={run}
        rows={10}
        heading={
          <>
            Run <Name mono>{id}</Name>
          </>
        }
      >
        {(data) => <RunDetails repository={repository} run={data} />}
      </Loaded>
    </div>
  );
}

function RunDetails({ repository, run }: { repository: string; run: ListedRun }) {
  const standards = useQuery(standardsQuery(repository)).data;
  const defaultBranch = useRepository(repository)?.default_branch ?? 'main';
  const [chart, setChart] = useState<RunsSearch>({});
  const columns = columnsOf([run]);
  const metrics = columns.filter(isMetric);
  const champion = standards?.champion ?? null;
  const ci = /^https?:\/\//.test(run.source.ci_url ?? '') ? run.source.ci_url : undefined;
  return (
    <>
      <div className="page-head">
        <h1 className="grow">
          Run {run.name ? <Name>{run.name}</Name> : <span className="mono">{run.id}</span>}{' '}
          <StateBadge state={run.state} />
        </h1>
        {run.commit_id && (
          <>
            <Link
              to="/r/$repository/$ref/data"
              params={{ repository, ref: run.commit_id }}
              search={{}}
              className={buttonClass()}
            >
              Data
            </Link>
            <Link
              to="/r/$repository/-/compare/$left/$right"
              params={{ repository, left: defaultBranch, right: run.commit_id }}
              className={buttonClass()}
            >
              Changes against {defaultBranch}
            </Link>
          </>
        )}
        <CopyAs
          snippets={[
            ...(run.commit_id
              ? [{ label: 'tarn', text: `tarn exp metrics ${run.commit_id} --repo ${repository}` }]
              : []),
            {
              label: 'curl',
              text: `curl -u "$TARN_ACCESS_KEY:$TARN_SECRET_KEY" ${shellWord(`${location.origin}/api/v1/repositories/${repository}/runs/${run.id}`)}`,
            },
            {
              label: 'Gate check',
              text: `tarn gate check ${shellWord(run.branch || run.commit_id)} --repo ${repository}`,
            },
          ]}
        />
      </div>
      <dl className="facts">
        <dt>Experiment</dt>
        <dd>
          <Link to="/r/$repository/-/runs" params={{ repository }} search={{ experiment: run.experiment }}>
            {run.experiment}
          </Link>
        </dd>
        <dt>Branch</dt>
        <dd>
          {run.branch ? (
            <Link to="/r/$repository/$ref/data" params={{ repository, ref: run.branch }} search={{}}>
              <Name>{run.branch}</Name>
            </Link>
          ) : (
            <span className="muted">none known</span>
          )}
        </dd>
        <dt>Commit</dt>
        <dd>
          {run.commit_id ? (
            <>
              <Link
                to="/r/$repository/-/commits/$commit"
                params={{ repository, commit: run.commit_id }}
                className="mono"
              >
                {run.commit_id.slice(0, 16)}
              </Link>{' '}
              <CopyButton text={run.commit_id} label="Copy commit id" />
            </>
          ) : (
            <span className="muted">none{run.state === 'running' ? ' yet' : ''}: no gate reads this run</span>
          )}
          {champion?.commit === run.commit_id && <Badge kind="accent">@{champion.alias}</Badge>}
        </dd>
        <dt>Started</dt>
        <dd>
          <Time at={run.creation_date} /> by {run.owner}
        </dd>
        <dt>{isLive(run) ? 'Last heartbeat' : 'Ended'}</dt>
        <dd>
          <Time at={run.seen_date} />
        </dd>
        {run.name && (
          <>
            <dt>Id</dt>
            <dd className="mono">{run.id}</dd>
          </>
        )}
        {run.tags.length > 0 && (
          <>
            <dt>Tags</dt>
            <dd>
              <Name>{run.tags.join(', ')}</Name>
            </dd>
          </>
        )}
        {run.notes && (
          <>
            <dt>Notes</dt>
            <dd className={styles.notes}>{run.notes}</dd>
          </>
        )}
        {run.source.git_sha && (
          <>
            <dt>Source code</dt>
            <dd className="mono">{run.source.git_sha}</dd>
          </>
        )}
        {run.source.ci_url && (
          <>
            <dt>CI job</dt>
            <dd>
              {ci ? (
                <a href={ci} rel="noreferrer noopener" target="_blank">
                  {ci}
                </a>
              ) : (
                run.source.ci_url
              )}
            </dd>
          </>
        )}
        {run.source.user && (
          <>
            <dt>Started by</dt>
            <dd>{run.source.user}</dd>
          </>
        )}
      </dl>
      <h2>Metrics</h2>
      {metrics.length === 0 ? (
        <p className="muted">None was recorded.</p>
      ) : (
        <div className={styles.scroll} tabIndex={0} role="group" aria-label="Table">
          <table className={styles.table}>
            <caption className="visually-hidden">Metrics</caption>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col" className="numeric">
                  Value
                </th>
                {champion && (
                  <th scope="col" className="numeric">
                    @{champion.alias}
                  </th>
                )}
                {champion && (
                  <th scope="col" className="numeric">
                    Difference
                  </th>
                )}
                <th scope="col">Origin</th>
              </tr>
            </thead>
            <tbody>
              {metrics.map((column) => {
                const value = valueOf(run, column)!;
                const of = champion?.values.get(column);
                return (
                  <tr key={column}>
                    <th scope="row" className="mono">
                      {nameOf(column)}
                    </th>
                    <td className="numeric" title={value.text}>
                      {shownValue(value)}
                    </td>
                    {champion && <td className="numeric">{of === undefined ? '–' : shownNumber(of)}</td>}
                    {champion && (
                      <td className="numeric">
                        <Delta value={value.number} column={column} standards={standards} />
                      </td>
                    )}
                    <td>
                      {value.origin.startsWith('file:') ? (
                        <Link
                          to="/r/$repository/$ref/data"
                          params={{ repository, ref: run.commit_id }}
                          search={{ object: value.origin.slice(5) }}
                        >
                          <Name mono>{value.origin.slice(5)}</Name>
                        </Link>
                      ) : (
                        value.origin
                      )}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      <h2>Parameters</h2>
      {columns.some(isParam) ? (
        <dl className="facts">
          {columns.filter(isParam).map((column) => (
            <Pair key={column} name={nameOf(column)} value={valueOf(run, column)!.text} />
          ))}
        </dl>
      ) : (
        <p className="muted">None was recorded.</p>
      )}
      {metrics.length > 0 && (
        <>
          <h2>Curves</h2>
          <Curves
            repository={repository}
            runs={[run]}
            columns={metrics}
            search={chart}
            onSearch={(next) => setChart({ ...chart, ...next })}
          />
        </>
      )}
      <h2>Artifacts</h2>
      {run.artifacts.length === 0 ? (
        <p className="muted">None was named.</p>
      ) : (
        run.artifacts.map((glob) => <Artifacts key={glob} repository={repository} commit={run.commit_id} glob={glob} />)
      )}
    </>
  );
}

function Pair({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt className="mono">{name}</dt>
      <dd className="mono">{value}</dd>
    </>
  );
}

/** Objects of the commit that match the pattern. */
function Artifacts({ repository, commit, glob }: { repository: string; commit: string; glob: string }) {
  const found = useQuery({
    queryKey: ['artifacts', repository, commit, glob],
    queryFn: ({ signal }) =>
      answer(
        api.GET('/repositories/{repository}/refs/{ref}/objects/search', {
          params: { path: { repository, ref: commit }, query: { glob, amount: artifactsMax } },
          signal,
        }),
      ),
  });
  if (found.error) return <ErrorPanel error={found.error} onRetry={() => void found.refetch()} />;
  const results = found.data?.results ?? [];
  return (
    <div className="stack-tight">
      <p>
        <code>{glob}</code>{' '}
        {found.data && results.length === 0 && <span className="muted">matches no object of the commit</span>}
      </p>
      <ul className={styles.artifacts}>
        {results.map((object) => (
          <li key={object.path}>
            <Link
              to="/r/$repository/$ref/data"
              params={{ repository, ref: commit }}
              search={{
                path: object.path.slice(0, object.path.lastIndexOf('/') + 1) || undefined,
                object: object.path,
              }}
            >
              <Name mono>{object.path}</Name>
            </Link>{' '}
            <span className="muted">
              <Bytes of={object.size_bytes} />
            </span>
          </li>
        ))}
      </ul>
      {found.data?.pagination.has_more && <p className="muted">The first {artifactsMax}.</p>}
    </div>
  );
}
