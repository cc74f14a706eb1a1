import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { resource, useMay } from '@/api/permissions';
import { useUser } from '@/api/session';
import { Button } from '@/ui/button';
import { CopyAs, CopyButton } from '@/ui/copy_as';
import { counted } from '@/ui/format';
import { Icon } from '@/ui/icon';
import { Loaded } from '@/ui/states';
import { Badge, Bytes, Name, Time } from '@/ui/text';
import { type Evidence, evidenceOf, isOpen, stateKind, stateWords } from './evidence';
import { CheckDialog, DecisionDialog, type Verb } from './decision_dialog';
import { type Promotion, promotionQuery, watchedChecks } from './promotion_queries';
import { titleOf } from './promotions_page';
import { Outcome, RulesTable, verdictOutcome } from './rules_table';
import styles from './promotion.module.css';

const route = getRouteApi('/signed-in/r/$repository/-/promotions/$promotion');

/** The record of one promotion: what was asked, on what it was decided, by whom, and what came of it. */
export function PromotionPage() {
  const { repository, promotion: id } = route.useParams();
  const promotion = useQuery(promotionQuery(repository, id));
  return (
    <div className="page">
      <Loaded
        query={promotion}
        rows={12}
        heading={
          <>
            Promotion <Name mono>{id}</Name>
          </>
        }
      >
        {(data) => <Record repository={repository} promotion={data} />}
      </Loaded>
    </div>
  );
}

/** The aliases that the winner has, or had, on its way. */
function Stages({ repository, promotion }: { repository: string; promotion: Promotion }) {
  const stages = promotion.stages ?? [];
  if (stages.length === 0) return null;
  return (
    <section aria-label="Stages">
      <h2>Stages</h2>
      <ul className={styles.plain}>
        {stages.map((stage) => (
          <li key={`${stage.alias}-${stage.entered_at}`}>
            <Link to="/r/$repository/-/aliases/$alias" params={{ repository, alias: stage.alias }}>
              @{stage.alias}
            </Link>{' '}
            <Commit repository={repository} id={stage.commit} /> since <Time at={stage.entered_at} />
            {stage.approved_by && <>, approved by {stage.approved_by.join(', ')}</>}
            {stage.until && (
              <>
                , {stage.checks?.join(', ')} can take it back until <Time at={stage.until} />
              </>
            )}
            {stage.outcome === 'taken_back' && stage.left_at && (
              <>
                {' '}
                <Badge kind="changed">taken back</Badge> <Time at={stage.left_at} />
              </>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Record({ repository, promotion }: { repository: string; promotion: Promotion }) {
  const [verb, setVerb] = useState<Verb | null>(null);
  const [reporting, setReporting] = useState<string | null>(null);
  const evidence = evidenceOf(promotion);
  const branch = resource.branch(repository, promotion.destination);
  const mayApprove = useMay('fs:ApprovePromotion', branch);
  const mayPromote = useMay('fs:Promote', branch);
  const mayRollBack = useMay('fs:RollBack', branch);
  // Who began it may cancel it, and who may approve it.
  const mayCancel = useUser()?.id === promotion.actor ? mayPromote : mayApprove;
  const open = isOpen(promotion.state);
  const winner = promotion.winner?.ref ?? '';
  const policy = evidence?.policy?.text ?? '';
  const checks = promotion.checks ?? [];
  const approvals = promotion.approvals ?? [];
  const awaited = checksOf(evidence, winner);
  const watched = watchedChecks(promotion)[0];
  return (
    <>
      <div className="page-head">
        <h1 className="grow">
          {promotion.undoes ? 'Roll back' : 'Promote'} <Name>{titleOf(promotion).replace(/^roll back /, '')}</Name>
        </h1>
        <Badge kind={stateKind(promotion.state)}>{stateWords[promotion.state]}</Badge>
      </div>
      {(promotion.message || promotion.code) && (
        <p
          role="status"
          className={
            open ? styles.waiting : promotion.state === 'failed' || promotion.state === 'rejected' ? styles.refused : ''
          }
        >
          {promotion.message} {promotion.code && <code className="muted">{promotion.code}</code>}
        </p>
      )}
      <div className="toolbar">
        {promotion.state === 'awaiting_approval' && (
          <>
            <Button kind="primary" icon="check" refused={mayApprove.refused} onPress={() => setVerb('approve')}>
              {promotion.undoes ? 'Approve the rollback' : `Approve ${winner}`}
            </Button>
            <Button kind="danger" icon="close" refused={mayApprove.refused} onPress={() => setVerb('reject')}>
              Reject
            </Button>
          </>
        )}
        {open && (
          <Button refused={mayCancel.refused} onPress={() => setVerb('cancel')}>
            Cancel promotion
          </Button>
        )}
        {((open && promotion.winner?.commit) || watched) && (
          <Button onPress={() => setReporting(watched ?? awaited[0] ?? '')}>Report a check…</Button>
        )}
        {promotion.state === 'promoted' && !promotion.undoes && (
          <Button kind="danger" icon="history" refused={mayRollBack.refused} onPress={() => setVerb('rollback')}>
            Roll back…
          </Button>
        )}
        <CopyAs
          snippets={[
            { label: 'Show', text: `tarn promote show ${promotion.id} --repo ${repository}` },
            ...(open
              ? [
                  { label: 'Wait', text: `tarn promote wait ${promotion.id} --repo ${repository}` },
                  {
                    label: 'Approve',
                    text: `tarn promote approve ${promotion.id} --repo ${repository}${promotion.review_digest ? ` --review ${promotion.review_digest}` : ''}`,
                  },
                  { label: 'Reject', text: `tarn promote reject ${promotion.id} --repo ${repository} -m why` },
                  { label: 'Cancel', text: `tarn promote cancel ${promotion.id} --repo ${repository}` },
                ]
              : []),
            { label: 'Evidence', text: `tarn promote evidence ${promotion.id} --repo ${repository} --verify` },
            { label: 'Report', text: `tarn promote report ${promotion.id} --repo ${repository} --html > report.html` },
            ...(promotion.state === 'promoted'
              ? [{ label: 'Roll back', text: `tarn promote rollback ${promotion.id} --repo ${repository} -m why` }]
              : []),
          ]}
        />
      </div>
      <div className={styles.record}>
        <section aria-label="The case">
          <h2>The case</h2>
          <dl className="facts">
            <dt>Candidates</dt>
            <dd className="mono">{promotion.candidates.join(', ') || '–'}</dd>
            <dt>Destination</dt>
            <dd>
              <Link to="/r/$repository/$ref/data" params={{ repository, ref: promotion.destination }} search={{}}>
                {promotion.destination}
              </Link>
            </dd>
            <dt>Gate</dt>
            <dd>
              <Link
                to="/r/$repository/-/gates/$policy"
                params={{ repository, policy: promotion.policy }}
                search={{ view: 'versions', version: promotion.policy_version }}
              >
                {promotion.policy}, version {promotion.policy_version}
              </Link>
            </dd>
            {promotion.alias && (
              <>
                <dt>Alias</dt>
                <dd>
                  <Link to="/r/$repository/-/aliases/$alias" params={{ repository, alias: promotion.alias }}>
                    @{promotion.alias}
                  </Link>
                </dd>
              </>
            )}
            <dt>Method</dt>
            <dd>
              {promotion.method}
              {promotion.paths?.length ? (
                <>
                  {' '}
                  of <span className="mono">{promotion.paths.join(', ')}</span>
                </>
              ) : null}
            </dd>
            <dt>Started</dt>
            <dd>
              <Time at={promotion.created_at} /> by {promotion.actor}
            </dd>
            {promotion.reason && (
              <>
                <dt>Reason</dt>
                <dd>{promotion.reason}</dd>
              </>
            )}
            {promotion.champion && (
              <>
                <dt>Champion then</dt>
                <dd>
                  <Commit repository={repository} id={promotion.champion} />
                </dd>
              </>
            )}
            {promotion.winner?.commit && (
              <>
                <dt>Winner</dt>
                <dd>
                  {winner} <Commit repository={repository} id={promotion.winner.commit} />
                </dd>
              </>
            )}
            {promotion.result && (
              <>
                <dt>Result</dt>
                <dd>
                  <Commit repository={repository} id={promotion.result} />
                </dd>
              </>
            )}
            {promotion.tag && (
              <>
                <dt>Tag</dt>
                <dd>
                  <Link to="/r/$repository/$ref/data" params={{ repository, ref: promotion.tag }} search={{}}>
                    {promotion.tag}
                  </Link>
                </dd>
              </>
            )}
            {promotion.undoes && (
              <>
                <dt>Undoes</dt>
                <dd>
                  <Link
                    to="/r/$repository/-/promotions/$promotion"
                    params={{ repository, promotion: promotion.undoes }}
                    className="mono"
                  >
                    {promotion.undoes}
                  </Link>
                </dd>
              </>
            )}
            {promotion.undone_by && (
              <>
                <dt>Undone by</dt>
                <dd>
                  <Link
                    to="/r/$repository/-/promotions/$promotion"
                    params={{ repository, promotion: promotion.undone_by }}
                    className="mono"
                  >
                    {promotion.undone_by}
                  </Link>
                </dd>
              </>
            )}
          </dl>
          {promotion.winner?.commit && promotion.champion && (
            <p>
              <Link
                to="/r/$repository/-/compare/$left/$right"
                params={{ repository, left: promotion.champion, right: promotion.winner.commit }}
              >
                What the winner changes against the champion
              </Link>
            </p>
          )}
        </section>
        <section aria-label="Course">
          <h2>Course</h2>
          <ol className={styles.timeline}>
            {(promotion.steps ?? []).map((step, index) => (
              <li key={index}>
                <strong>{stateWords[step.state]}</strong> <Time at={step.at} />
                {step.actor && <> by {step.actor}</>}
                {step.message && <div className="muted">{step.message}</div>}
              </li>
            ))}
          </ol>
        </section>
      </div>
      <Stages repository={repository} promotion={promotion} />
      {checks.length > 0 && (
        <section aria-label="Checks">
          <h2>Checks</h2>
          <ul className={styles.plain}>
            {checks.map((check) => (
              <li key={`${check.name}-${check.at}`}>
                <Outcome of={check.status === 'success' ? 'pass' : check.status === 'failure' ? 'fail' : 'pending'} />{' '}
                <strong>{check.name}</strong> of <span className="mono">{check.commit.slice(0, 12)}</span> by{' '}
                {check.reporter} <Time at={check.at} />
                {Object.entries(check.metrics).map(([name, value]) => (
                  <span key={name} className="mono muted">
                    {' '}
                    {name}={value}
                  </span>
                ))}
                {/^https?:/.test(check.url) && (
                  <>
                    {' '}
                    <a href={check.url} target="_blank" rel="noreferrer noopener">
                      details
                    </a>
                  </>
                )}
                {check.supersedes && <> (instead of a failure: {check.supersedes})</>}
                {!check.counts && (
                  <>
                    {' '}
                    <Badge kind="changed">of another commit</Badge>
                  </>
                )}
              </li>
            ))}
          </ul>
        </section>
      )}
      {approvals.length > 0 && (
        <section aria-label="Approvals">
          <h2>Approvals</h2>
          <ul className={styles.plain}>
            {approvals.map((approval) => (
              <li key={`${approval.user}-${approval.at}`}>
                <Icon name="check" /> <strong>{approval.user}</strong> approved {approval.candidate}{' '}
                <span className="mono">{approval.commit.slice(0, 12)}</span> <Time at={approval.at} />
                {approval.reason && <>: {approval.reason}</>}
                {!approval.counts && (
                  <>
                    {' '}
                    <Badge kind="changed">no longer counts</Badge>
                  </>
                )}
              </li>
            ))}
          </ul>
        </section>
      )}
      {evidence && <Judgement repository={repository} evidence={evidence} winner={winner} />}
      {promotion.evidence_digest && (
        <section aria-label="Evidence">
          <h2>Evidence</h2>
          <dl className="facts">
            <dt>SHA-256</dt>
            <dd>
              <code>{promotion.evidence_digest}</code>{' '}
              <CopyButton text={promotion.evidence_digest} label="Copy digest" />
            </dd>
            {promotion.logged_digest && (
              <>
                <dt>In the alias’s history</dt>
                <dd>
                  <code>{promotion.logged_digest}</code>{' '}
                  {promotion.evidence_verified ? (
                    <Badge kind="added">equal</Badge>
                  ) : (
                    <Badge kind="removed">differs</Badge>
                  )}
                </dd>
              </>
            )}
          </dl>
          {policy && (
            <details>
              <summary>The gate’s text then</summary>
              <pre className={styles.code} tabIndex={0}>
                {policy}
              </pre>
            </details>
          )}
        </section>
      )}
      {verb && (
        <DecisionDialog repository={repository} promotion={promotion} verb={verb} onClose={() => setVerb(null)} />
      )}
      {reporting !== null && promotion.winner?.commit && (
        <CheckDialog
          repository={repository}
          promotion={promotion}
          check={reporting}
          commit={promotion.winner.commit}
          onClose={() => setReporting(null)}
        />
      )}
    </>
  );
}

/** Names of checks that the winner still waits for. */
function checksOf(evidence: Evidence | null, winner: string): string[] {
  const rules = evidence?.candidates.find((candidate) => candidate.ref === winner)?.rules ?? [];
  return rules.flatMap(
    (rule) =>
      /^checks?\.(?:required\.)?(.+)$/.exec(rule.rule)?.[1] ?? /^checks\.required\[(.+)\]$/.exec(rule.rule)?.[1] ?? [],
  );
}

function Commit({ repository, id }: { repository: string; id: string }) {
  return (
    <Link to="/r/$repository/-/commits/$commit" params={{ repository, commit: id }} className="mono">
      {id.slice(0, 12)}
    </Link>
  );
}

function Judgement({ repository, evidence, winner }: { repository: string; evidence: Evidence; winner: string }) {
  const { candidate: named } = route.useSearch();
  const { promotion } = route.useParams();
  const navigate = useNavigate();
  const ranked = [...evidence.candidates].sort(
    (a, b) => (a.rank || Number.MAX_SAFE_INTEGER) - (b.rank || Number.MAX_SAFE_INTEGER),
  );
  const shown =
    ranked.find((candidate) => candidate.ref === named) ??
    ranked.find((candidate) => candidate.ref === winner) ??
    ranked[0];
  if (!shown) return null;
  const passed = ranked.filter((candidate) => candidate.verdict !== 'failed').length;
  return (
    <section aria-label="Judgement" className="stack-tight">
      <h2>Judgement</h2>
      <p className="muted">
        {counted(ranked.length, 'candidate')}, of which {passed} failed no rule
        {evidence.at ? (
          <>
            ; judged <Time at={evidence.at} />
          </>
        ) : null}
        .
      </p>
      <div className={styles.judgement}>
        <ul className={styles.candidates} aria-label="Candidates">
          {ranked.map((candidate) => (
            <li key={candidate.ref}>
              <button
                type="button"
                aria-current={candidate === shown}
                className={candidate === shown ? styles.candidateAt : styles.candidate}
                onClick={() =>
                  void navigate({
                    to: '/r/$repository/-/promotions/$promotion',
                    params: { repository, promotion },
                    search: { candidate: candidate.ref },
                    replace: true,
                  })
                }
              >
                <Outcome of={verdictOutcome(candidate.verdict)} />
                <span className={styles.ref}>
                  <Name>{candidate.ref}</Name>
                </span>
                {candidate.rank > 0 && (
                  <span className="muted">{candidate.rank === 1 ? 'winner' : `rank ${candidate.rank}`}</span>
                )}
              </button>
            </li>
          ))}
        </ul>
        <div className="stack-tight grow">
          <p>
            <strong>{shown.ref}</strong> <Commit repository={repository} id={shown.commit} />
            {shown.author ? <> by {shown.author}</> : null}
            {shown.total_bytes === undefined ? null : (
              <>
                , <Bytes of={shown.total_bytes} />
              </>
            )}
            {shown.dominated && (
              <>
                {' '}
                <Badge kind="changed">another is better in every metric</Badge>
              </>
            )}
          </p>
          <RulesTable rules={shown.rules} label={`Rules for ${shown.ref}`} />
          {shown.warnings.map((warning) => (
            <p key={warning} className={styles.warning}>
              {warning}
            </p>
          ))}
        </div>
      </div>
    </section>
  );
}
