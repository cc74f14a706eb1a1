import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useDeferredValue, useEffect, useState } from 'react';
import type { Schemas } from '@/api/client';
import { asError } from '@/api/errors';
import { resource, useMay } from '@/api/permissions';
import { Button } from '@/ui/button';
import { CopyAs } from '@/ui/copy_as';
import { ConfirmDialog } from '@/ui/dialog';
import { Select, TextField } from '@/ui/field';
import { counted } from '@/ui/format';
import { shellWord } from '@/ui/snippets';
import { EmptyState, ErrorPanel, Loaded, Skeleton } from '@/ui/states';
import { Badge, Name, Time } from '@/ui/text';
import { removeGate, setGate } from './gate_changes';
import { Differences, Proposal } from './gate_proposal';
import { fieldOf, isEditable } from './policy_document';
import { PolicyForm } from './policy_form';
import { PromoteDialog } from './promote_dialog';
import {
  aliasHistoryQuery,
  aliasesQuery,
  candidateWords,
  type GatePolicy,
  policyQuery,
  verdictsQuery,
  versionsQuery,
} from './promotion_queries';
import { Outcome, RulesTable, verdictOutcome } from './rules_table';
import styles from './promotion.module.css';

const route = getRouteApi('/signed-in/r/$repository/-/gates/$policy');
const newPolicy = '-new';
const typingMs = 500;
const shownMax = 200;
const template = `destination: main
alias: champion
candidates: "exp-*"
metrics:
  - {name: accuracy, goal: max, min: 0.6, max: 1.0, vs_champion: {min_delta: 0.005}, primary: true}
approvals: {count: 1}
`;

type View = 'candidates' | 'edit' | 'versions';

export function GatePage() {
  const { repository, policy } = route.useParams();
  const query = useQuery({ ...policyQuery(repository, policy), enabled: policy !== newPolicy });
  // The editor is drawn again for the new version.
  const [saved, setSaved] = useState<Schemas['GatePolicySet'] | null>(null);
  if (policy === newPolicy)
    return (
      <div className="page">
        <h1>New gate</h1>
        <Editor repository={repository} current={null} onSaved={setSaved} />
      </div>
    );
  return (
    <div className="page">
      <Loaded
        query={query}
        rows={8}
        heading={
          <>
            Gate <Name>{policy}</Name>
          </>
        }
      >
        {(data) => <Gate repository={repository} current={data} saved={saved} onSaved={setSaved} />}
      </Loaded>
    </div>
  );
}

function Gate({
  repository,
  current,
  saved,
  onSaved,
}: {
  repository: string;
  current: GatePolicy;
  /** The answer to what was saved last on this page. */
  saved: Schemas['GatePolicySet'] | null;
  onSaved: (saved: Schemas['GatePolicySet']) => void;
}) {
  const search = route.useSearch();
  const navigate = useNavigate();
  const view = search.view ?? 'candidates';
  const [removing, setRemoving] = useState(false);
  const maySet = useMay('branches:SetGatePolicy', resource.repository(repository));
  const alias = fieldOf(current.document ?? '', ['alias']);
  const go = (next: View) =>
    void navigate({
      to: '/r/$repository/-/gates/$policy',
      params: { repository, policy: current.name },
      search: { ...search, view: next === 'candidates' ? undefined : next },
    });
  const tabs: [View, string][] = [
    ['candidates', 'Who would pass'],
    ['edit', 'Edit'],
    ['versions', 'Versions'],
  ];
  return (
    <>
      <div className="page-head">
        <h1 className="grow">
          Gate <Name>{current.name}</Name>
        </h1>
        <Button icon="trash" kind="danger" refused={maySet.refused} onPress={() => setRemoving(true)}>
          Remove…
        </Button>
        <CopyAs
          snippets={[
            { label: 'Show', text: `tarn policy show ${current.name} --repo ${repository}` },
            { label: 'Apply', text: `tarn policy apply ${current.name} -f policy.yaml --repo ${repository}` },
            { label: 'Versions', text: `tarn policy log ${current.name} --repo ${repository}` },
            {
              label: 'Check',
              text: `tarn gate check ${candidateWords(fieldOf(current.document ?? '', ['candidates']) || 'exp-*')
                .map(shellWord)
                .join(' ')} --policy ${current.name} --repo ${repository}`,
            },
            { label: 'Remove', text: `tarn policy rm ${current.name} --repo ${repository}` },
          ]}
        />
      </div>
      <dl className="facts">
        <dt>Protects</dt>
        <dd>{current.destination}</dd>
        {alias && (
          <>
            <dt>Champion</dt>
            <dd>
              <Link to="/r/$repository/-/aliases/$alias" params={{ repository, alias }}>
                @{alias}
              </Link>
            </dd>
          </>
        )}
        <dt>Version</dt>
        <dd>
          {current.version}, <Time at={current.creation_date} /> by {current.author}
        </dd>
      </dl>
      {saved?.name === current.name && saved.warnings.length > 0 && (
        <section aria-label="Warnings" className="stack-tight">
          {saved.warnings.map((warning) => (
            <p key={warning} className={styles.warning}>
              {warning}
            </p>
          ))}
        </section>
      )}
      {current.proposal && (
        <Proposal repository={repository} current={current} proposal={current.proposal} onSaved={onSaved} />
      )}
      <div className={styles.tabs} role="tablist" aria-label="Views">
        {tabs.map(([id, label]) => (
          <button
            key={id}
            type="button"
            role="tab"
            aria-selected={view === id}
            className={view === id ? styles.tabAt : styles.tab}
            onClick={() => go(id)}
          >
            {label}
          </button>
        ))}
      </div>
      {view === 'candidates' && <Candidates repository={repository} current={current} alias={alias} />}
      {view === 'edit' && <Editor key={current.version} repository={repository} current={current} onSaved={onSaved} />}
      {view === 'versions' && <Versions repository={repository} current={current} />}
      {removing && (
        <ConfirmDialog
          title="Remove gate"
          isOpen
          action="Remove gate"
          typed={current.name}
          onClose={() => setRemoving(false)}
          onConfirm={async () => {
            if (await removeGate(repository, current)) return;
            void navigate({ to: '/r/$repository/-/promotions', params: { repository }, search: {} });
          }}
        >
          Without it, {current.destination} can be changed by every write and merge that permissions allow. All{' '}
          {current.version} versions stay in the record.
        </ConfirmDialog>
      )}
    </>
  );
}

/** Champions of today and before. */
function ChampionSelect({
  repository,
  alias,
  value,
  onChange,
}: {
  repository: string;
  alias: string;
  value: string;
  onChange: (value: string) => void;
}) {
  // One that was never set has no history to ask for.
  const isSet = useQuery(aliasesQuery(repository)).data?.results.some((item) => item.id === alias) ?? false;
  const history = useQuery({ ...aliasHistoryQuery(repository, alias), enabled: isSet });
  const past = (history.data?.results ?? []).filter((change) => change.to_commit_id).slice(1);
  if (alias === '') return null;
  return (
    <Select
      label="Against"
      value={value}
      onChange={onChange}
      options={[
        { value: '', label: `@${alias} today` },
        ...past.map((change) => ({
          value: change.to_commit_id!,
          label: `@${alias} of ${change.creation_date.slice(0, 10)} (${change.to_commit_id!.slice(0, 10)})`,
        })),
      ]}
    />
  );
}

function Candidates({ repository, current, alias }: { repository: string; current: GatePolicy; alias: string }) {
  const search = route.useSearch();
  const navigate = useNavigate();
  const fallback = fieldOf(current.document ?? '', ['candidates']);
  const text = search.candidates ?? fallback;
  const [typed, setTyped] = useState(text);
  const words = candidateWords(text);
  const verdicts = useQuery({
    ...verdictsQuery(repository, current.name, words, search.champion),
    enabled: words.length > 0,
  });
  const change = (next: { candidates?: string | undefined; champion?: string | undefined }) =>
    void navigate({
      to: '/r/$repository/-/gates/$policy',
      params: { repository, policy: current.name },
      search: { ...search, ...next },
      replace: true,
    });
  return (
    <>
      <form
        className={styles.controls}
        onSubmit={(event) => {
          event.preventDefault();
          change({ candidates: typed || undefined });
        }}
      >
        <div className={styles.wide}>
          <TextField label="Candidates" value={typed} onChange={setTyped} mono placeholder="exp-*" />
        </div>
        <div className={styles.wide}>
          <ChampionSelect
            repository={repository}
            alias={alias}
            value={search.champion ?? ''}
            onChange={(champion) => change({ champion: champion || undefined })}
          />
        </div>
        <Button type="submit">Judge</Button>
      </form>
      {words.length === 0 ? (
        <EmptyState icon="promote" command={`tarn gate check exp-1 --policy ${current.name} --repo ${repository}`}>
          Name candidates to see who would pass.
        </EmptyState>
      ) : (
        <Loaded query={verdicts} rows={6}>
          {(data) => <Verdicts repository={repository} verdicts={data} policy={current} alias={alias} />}
        </Loaded>
      )}
    </>
  );
}

/** Each candidate with its verdict; its rules open below it. With a policy each can be promoted from here. */
function Verdicts({
  repository,
  verdicts,
  policy,
  alias,
}: {
  repository: string;
  verdicts: Schemas['GateVerdicts'];
  policy?: GatePolicy;
  alias?: string;
}) {
  const [open, setOpen] = useState<string | null>(null);
  const [promoting, setPromoting] = useState<string | null>(null);
  const may = useMay('fs:Promote', resource.branch(repository, verdicts.destination));
  const passed = verdicts.results.filter((result) => result.verdict === 'passed').length;
  const pending = verdicts.results.filter((result) => result.verdict === 'pending').length;
  return (
    <div className="stack-tight">
      <p role="status">
        {counted(verdicts.results.length, 'candidate')}: {passed} would pass
        {pending > 0 ? `, ${pending} would wait for checks or approvals` : ''},{' '}
        {verdicts.results.length - passed - pending} would fail
        {verdicts.champion?.ref
          ? `, against ${verdicts.champion.ref.length === 64 ? verdicts.champion.ref.slice(0, 12) : verdicts.champion.ref}`
          : '; there is no champion'}
        .
      </p>
      {verdicts.refusal && <p className={styles.warning}>{verdicts.refusal.message}</p>}
      {(verdicts.warnings ?? []).map((warning) => (
        <p key={warning} className={styles.warning}>
          {warning}
        </p>
      ))}
      <ul className={styles.standing} aria-label="Verdicts">
        {verdicts.results.slice(0, shownMax).map((result) => {
          const failing = result.rules.filter((rule) => rule.outcome === 'fail');
          // A merge that conflicts may still pass by replacing paths.
          const binding = failing.find((rule) => rule.rule !== 'merge');
          const title = `Promote ${result.ref} to ${verdicts.destination}${alias ? ` as @${alias}` : ''}`;
          return (
            <li key={result.ref}>
              <div className={styles.standingRow}>
                <button
                  type="button"
                  className={styles.disclose}
                  aria-expanded={open === result.ref}
                  onClick={() => setOpen(open === result.ref ? null : result.ref)}
                >
                  <Outcome of={verdictOutcome(result.verdict)} />
                  <span className={styles.ref}>
                    <Name>{result.ref}</Name>
                  </span>
                  {result.rank !== undefined && <span className="muted">rank {result.rank}</span>}
                </button>
                <span className={`muted ${styles.why}`} title={failing.map((rule) => rule.reason).join('; ')}>
                  {failing.length > 0
                    ? failing.map((rule) => rule.reason).join('; ')
                    : result.rules.find((rule) => rule.outcome === 'pending')?.reason}
                </span>
                {policy && (
                  <Button
                    icon="promote"
                    aria-label={title}
                    refused={may.refused ?? (binding ? `${result.ref} fails: ${binding.reason}` : undefined)}
                    onPress={() => setPromoting(result.ref)}
                  >
                    Promote
                  </Button>
                )}
              </div>
              {open === result.ref && (
                <div className={styles.opened}>
                  <RulesTable rules={result.rules} label={`Rules for ${result.ref}`} />
                  {result.warnings.map((warning) => (
                    <p key={warning} className={styles.warning}>
                      {warning}
                    </p>
                  ))}
                  {result.branch && (
                    <p>
                      <Link to="/r/$repository/$ref/data" params={{ repository, ref: result.branch }} search={{}}>
                        Data
                      </Link>{' '}
                      ·{' '}
                      <Link
                        to="/r/$repository/-/compare/$left/$right"
                        params={{ repository, left: verdicts.destination, right: result.branch }}
                      >
                        Changes
                      </Link>{' '}
                      ·{' '}
                      <Link to="/r/$repository/-/runs" params={{ repository }} search={{ branch: result.branch }}>
                        Runs
                      </Link>
                    </p>
                  )}
                </div>
              )}
            </li>
          );
        })}
      </ul>
      {verdicts.results.length > shownMax && (
        <p className="muted">
          The first {shownMax} of {verdicts.results.length}.
        </p>
      )}
      {promoting !== null && policy && (
        <PromoteDialog
          repository={repository}
          policy={policy}
          alias={alias ?? ''}
          candidates={promoting}
          onClose={() => setPromoting(null)}
        />
      )}
    </div>
  );
}

function useDebounced<T>(value: T): T {
  const [late, setLate] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setLate(value), typingMs);
    return () => clearTimeout(timer);
  }, [value]);
  return late;
}

/** The document as a form and as text, judged by the server while it is written. */
function Editor({
  repository,
  current,
  onSaved,
}: {
  repository: string;
  current: GatePolicy | null;
  onSaved: (saved: Schemas['GatePolicySet']) => void;
}) {
  const navigate = useNavigate();
  const [document, setDocument] = useState(current?.document ?? template);
  const [name, setName] = useState(current?.name ?? '');
  const [asText, setAsText] = useState(false);
  const [champion, setChampion] = useState('');
  const [saving, setSaving] = useState(false);
  const [failure, setFailure] = useState<Error | null>(null);
  const maySet = useMay('branches:SetGatePolicy', resource.repository(repository));
  const judged = useDebounced(useDeferredValue(document));
  const alias = fieldOf(judged, ['alias']);
  const words = candidateWords(fieldOf(judged, ['candidates']));
  const draftName = name || 'draft';
  const verdicts = useQuery({
    ...verdictsQuery(repository, draftName, words.length > 0 ? words : ['*'], champion, judged),
    enabled: maySet.allowed && judged.trim() !== '',
    placeholderData: (before) => before,
    retry: false,
  });
  const changed = document !== (current?.document ?? '');
  const save = async () => {
    setSaving(true);
    setFailure(null);
    try {
      const saved = await setGate(repository, name, current?.version ?? 0, document);
      onSaved(saved);
      void navigate({
        to: '/r/$repository/-/gates/$policy',
        params: { repository, policy: name },
        search: saved.warnings.length > 0 ? { view: 'edit' } : {},
      });
    } catch (thrown) {
      setFailure(asError(thrown));
    } finally {
      setSaving(false);
    }
  };
  return (
    <div className={styles.editor}>
      <section aria-label="Document" className="stack-tight">
        {!current && (
          <TextField
            label="Name"
            value={name}
            onChange={setName}
            mono
            autoFocus
            help="Letters, digits, underscores, hyphens and dots"
          />
        )}
        <div className={styles.tabs} role="tablist" aria-label="Edit as">
          <button
            type="button"
            role="tab"
            aria-selected={!asText}
            className={asText ? styles.tab : styles.tabAt}
            onClick={() => setAsText(false)}
          >
            Form
          </button>
          <button
            type="button"
            role="tab"
            aria-selected={asText}
            className={asText ? styles.tabAt : styles.tab}
            onClick={() => setAsText(true)}
          >
            Text
          </button>
        </div>
        {asText || !isEditable(document) ? (
          <TextField label="Document (YAML or JSON)" value={document} onChange={setDocument} rows={24} mono />
        ) : (
          <PolicyForm document={document} onChange={setDocument} />
        )}
        {failure && <ErrorPanel error={failure} />}
        <div className="toolbar">
          <Button
            kind="primary"
            isPending={saving}
            refused={maySet.refused ?? (!name ? 'Give the gate a name' : !changed ? 'Nothing is changed' : undefined)}
            onPress={() => void save()}
          >
            {current
              ? `Set version ${current.version + 1}`
              : `Protect ${fieldOf(document, ['destination']) || 'the destination'}`}
          </Button>
          {current && changed && <Button onPress={() => setDocument(current.document ?? '')}>Undo changes</Button>}
          <CopyAs
            snippets={[
              {
                label: 'tarn',
                text: `tarn policy apply ${shellWord(draftName)} --repo ${repository} -f - <<'END'\n${document}END`,
              },
              { label: 'Document', text: document },
            ]}
          />
        </div>
      </section>
      <section aria-label="Who would pass" className="stack-tight">
        <h2>Who would pass {champion ? 'then' : 'today'}</h2>
        <ChampionSelect repository={repository} alias={alias} value={champion} onChange={setChampion} />
        {!maySet.allowed ? (
          <p className="muted">{maySet.refused}</p>
        ) : verdicts.error ? (
          <div className={styles.refused} role="alert">
            <strong>{asError(verdicts.error).message}</strong>
          </div>
        ) : verdicts.data ? (
          <div className={verdicts.isPlaceholderData || judged !== document ? styles.stale : ''}>
            <Verdicts repository={repository} verdicts={verdicts.data} />
          </div>
        ) : (
          <Skeleton rows={4} />
        )}
      </section>
    </div>
  );
}

function Versions({ repository, current }: { repository: string; current: GatePolicy }) {
  const search = route.useSearch();
  const navigate = useNavigate();
  const versions = useQuery(versionsQuery(repository, current.name));
  return (
    <Loaded query={versions} rows={6}>
      {(data) => {
        const chosen = data.results.find((version) => version.version === search.version) ?? data.results[0];
        const before = data.results.find((version) => chosen && version.version === chosen.version - 1);
        return (
          <div className={styles.judgement}>
            <ul className={styles.candidates} aria-label="Versions">
              {data.results.map((version) => (
                <li key={version.version}>
                  <button
                    type="button"
                    aria-current={version === chosen}
                    className={version === chosen ? styles.candidateAt : styles.candidate}
                    onClick={() =>
                      void navigate({
                        to: '/r/$repository/-/gates/$policy',
                        params: { repository, policy: current.name },
                        search: { ...search, version: version.version },
                        replace: true,
                      })
                    }
                  >
                    <strong>{version.version}</strong>
                    {version.removed ? (
                      <Badge kind="removed">removed</Badge>
                    ) : (
                      version.version === current.version && <Badge kind="added">holds</Badge>
                    )}
                    <span className="muted grow">{version.author}</span>
                    <span className="muted">
                      <Time at={version.creation_date} />
                    </span>
                  </button>
                </li>
              ))}
            </ul>
            <div className="stack-tight grow">
              <h2>{before ? `Version ${chosen?.version} against ${before.version}` : `Version ${chosen?.version}`}</h2>
              {chosen?.digest && (
                <p className="muted">
                  SHA-256 <code>{chosen.digest.slice(0, 16)}…</code>
                </p>
              )}
              <Differences before={before?.document ?? ''} after={chosen?.document ?? ''} label="Differences" />
            </div>
          </div>
        );
      }}
    </Loaded>
  );
}
