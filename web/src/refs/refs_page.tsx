import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { resource, useMay } from '@/api/permissions';
import { useRepository } from '@/app/use_repository';
import { commitOfRefQuery } from '@/changes/diff_queries';
import { defaultColumns, newestRunQuery, sampleQuery, standardsQuery } from '@/experiments/run_queries';
import { isMetric, nameOf, shownValue, valueOf } from '@/experiments/run_values';
import { aheadMax, aheadQuery } from '@/history/log_queries';
import { openRequestsQuery } from '@/requests/request_queries';
import { Button, IconButton } from '@/ui/button';
import { copyText } from '@/ui/copy_as';
import { type Column, DataTable } from '@/ui/data_table';
import { TextField } from '@/ui/field';
import { count, counted } from '@/ui/format';
import { Icon } from '@/ui/icon';
import { Menu, MenuItem, MenuSeparator, PermittedItem } from '@/ui/menu';
import { tarnUri } from '@/ui/snippets';
import { EmptyState, ErrorPanel, Skeleton } from '@/ui/states';
import { Badge, Name, Time } from '@/ui/text';
import { AliasHistory } from './alias_history';
import { type BranchChange, BranchChangeDialog, changeItems } from './branch_dialogs';
import { CreateRef, DeleteRefs } from './ref_dialogs';
import { protectionOf, protectionQuery, type ProtectionRule } from './protection';
import { kinds, KindTabs } from './kind_tabs';
import { type NamedRef, type RefKind, refsQuery } from './ref_queries';
import { StaleBranches } from './stale_branches';
import styles from './refs.module.css';

const route = getRouteApi('/signed-in/r/$repository/-/branches');

/** The kinds of refs, and the branches that are no longer used. */
export function RefsPage() {
  const { kind } = route.useSearch();
  return kind === 'stale' ? <StaleBranches /> : <NamedRefs kind={kind ?? 'branch'} />;
}

/** Branches, tags and aliases, with what one has to know before deleting some. */
function NamedRefs({ kind }: { kind: RefKind }) {
  const { repository } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  const refs = useQuery(refsQuery(repository));
  const loaded = useRepository(repository);
  const base = loaded?.default_branch ?? 'main';
  const rules = useQuery(protectionQuery(repository));
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [creating, setCreating] = useState<string | null>(null);
  const [deleting, setDeleting] = useState<readonly NamedRef[]>([]);
  const [changing, setChanging] = useState<BranchChange | null>(null);
  const [history, setHistory] = useState<string | null>(null);
  const mayCreate = useMay(
    kind === 'branch' ? 'fs:CreateBranch' : kind === 'tag' ? 'fs:CreateTag' : 'fs:SetAlias',
    kind === 'branch'
      ? resource.branch(repository, '*')
      : kind === 'tag'
        ? resource.tag(repository, '*')
        : resource.alias(repository, '*'),
  );
  const q = (search.q ?? '').toLowerCase();
  const shown = useMemo(
    () => (refs.data ?? []).filter((ref) => ref.kind === kind && ref.name.toLowerCase().includes(q)),
    [refs.data, kind, q],
  );
  const one = kinds.find((item) => item.kind === kind)!.one;

  const baseCommit = refs.data?.find((ref) => ref.kind === 'branch' && ref.name === base)?.commit;
  const columns = useMemo(
    (): Column<NamedRef>[] => [
      {
        id: 'name',
        header: 'Name',
        width: 'minmax(160px, 2fr)',
        cell: (ref) => (
          <>
            <Icon name={ref.kind} />
            <Link
              to="/r/$repository/$ref/data"
              params={{ repository, ref: ref.name }}
              search={{}}
              className={styles.name}
            >
              <Name>{ref.name}</Name>
            </Link>
            <span className={styles.badges}>
              {ref.name === base && <Badge kind="neutral">default</Badge>}
              {ref.kind === 'branch' && <Protection rules={rules.data} branch={ref.name} />}
            </span>
          </>
        ),
      },
      {
        id: 'commit',
        header: 'Commit',
        width: '124px',
        wideOnly: true,
        cell: (ref) => (
          <Link to="/r/$repository/-/commits/$commit" params={{ repository, commit: ref.commit }} search={{}}>
            <code>{ref.commit.slice(0, 12)}</code>
          </Link>
        ),
      },
      {
        id: 'message',
        header: 'Last commit',
        width: 'minmax(120px, 2fr)',
        wideOnly: true,
        cell: (ref) => <Head repository={repository} at={ref} part="message" />,
      },
      { id: 'age', header: 'Age', width: '96px', cell: (ref) => <Head repository={repository} at={ref} part="time" /> },
      ...(kind === 'branch'
        ? [
            {
              id: 'ahead',
              header: `Ahead, behind ${base.length > 12 ? 'default' : base}`,
              width: '160px',
              wideOnly: true,
              cell: (ref: NamedRef) =>
                ref.name === base ? null : (
                  <Ahead repository={repository} branch={ref} base={base} baseCommit={baseCommit} />
                ),
            },
            {
              id: 'run',
              header: 'Newest run',
              width: '144px',
              wideOnly: true,
              cell: (ref: NamedRef) => <NewestRun repository={repository} branch={ref.name} />,
            },
            {
              id: 'requests',
              header: 'Pull requests',
              width: '112px',
              wideOnly: true,
              cell: (ref: NamedRef) => <OpenRequests repository={repository} branch={ref.name} />,
            },
            {
              id: 'expires',
              header: 'Expires',
              width: '96px',
              wideOnly: true,
              cell: (ref: NamedRef) => (ref.expires ? <Time at={ref.expires} /> : <span className="muted">never</span>),
            },
          ]
        : []),
      {
        id: 'actions',
        header: 'Actions',
        hideHeader: true,
        width: '48px',
        cell: (ref) => (
          <Menu label={`Actions of ${ref.name}`} trigger={<IconButton icon="more" label={`Actions of ${ref.name}`} />}>
            <MenuItem
              icon="history"
              onAction={() =>
                void navigate({ to: '/r/$repository/$ref/history', params: { repository, ref: ref.name }, search: {} })
              }
            >
              History
            </MenuItem>
            <MenuItem
              icon="diff"
              refused={ref.name === base ? 'It is the default branch' : undefined}
              onAction={() =>
                void navigate({
                  to: '/r/$repository/-/compare/$left/$right',
                  params: { repository, left: base, right: ref.name },
                  search: {},
                })
              }
            >{`Compare with ${base}`}</MenuItem>
            <MenuItem icon="branch" onAction={() => setCreating(ref.name)}>
              Create from it…
            </MenuItem>
            {ref.kind === 'branch' && changeItems(repository, ref, base, setChanging)}
            {ref.kind === 'alias' && (
              <MenuItem icon="history" onAction={() => setHistory(ref.name.slice(1))}>
                History of the alias…
              </MenuItem>
            )}
            <MenuItem icon="copy" onAction={() => void copyText(tarnUri(repository, ref.name).slice(0, -1))}>
              Copy tarn URI
            </MenuItem>
            <MenuSeparator />
            <PermittedItem
              {...removal(repository, ref)}
              icon="trash"
              danger
              refused={ref.name === base && ref.kind === 'branch' ? 'The default branch cannot be deleted' : undefined}
              onAction={() => setDeleting([ref])}
            >
              Delete…
            </PermittedItem>
          </Menu>
        ),
      },
    ],
    [repository, base, baseCommit, kind, rules.data, navigate],
  );

  return (
    <div className="page-full">
      <div className="page-head">
        <h1 className="grow">Branches, tags and aliases</h1>
        <div style={{ width: 220, maxWidth: '100%' }}>
          <TextField
            label="Find a ref"
            hideLabel
            type="search"
            placeholder="Find by name"
            value={search.q ?? ''}
            onChange={(value) =>
              void navigate({ to: '.', search: { ...search, q: value || undefined }, replace: true })
            }
          />
        </div>
        {selected.size > 0 && (
          <Button kind="danger" icon="trash" onPress={() => setDeleting(shown.filter((ref) => selected.has(ref.name)))}>
            Delete {count(selected.size)}…
          </Button>
        )}
        <Button kind="primary" icon="plus" refused={mayCreate.refused} onPress={() => setCreating(base)}>
          {kind === 'alias' ? 'Set alias' : `Create ${one}`}
        </Button>
      </div>
      <KindTabs repository={repository} kind={kind} q={search.q} onClick={() => setSelected(new Set())} />
      {refs.error && !refs.data ? (
        <ErrorPanel error={refs.error} onRetry={() => void refs.refetch()} />
      ) : !refs.data ? (
        <Skeleton rows={8} />
      ) : (
        <DataTable
          key={kind}
          label={kinds.find((item) => item.kind === kind)!.label}
          fill
          columns={columns}
          count={shown.length}
          row={(row) => shown[row]}
          rowKey={(ref) => ref.name}
          selected={selected}
          onSelect={setSelected}
          selectable={(ref) => !(ref.kind === 'branch' && ref.name === base)}
          onOpen={(ref) =>
            void navigate({ to: '/r/$repository/$ref/data', params: { repository, ref: ref.name }, search: {} })
          }
          empty={
            q ? (
              <EmptyState icon="search">
                No {one} has "{search.q}" in its name.
              </EmptyState>
            ) : (
              <EmptyState
                icon={kind}
                command={
                  kind === 'tag'
                    ? `tarn tag create tarn://${repository}/v1 ${base}`
                    : `tarn alias set tarn://${repository}/champion ${base}`
                }
                action={
                  <Button icon="plus" refused={mayCreate.refused} onPress={() => setCreating(base)}>
                    {kind === 'alias' ? 'Set the first alias' : `Create the first ${one}`}
                  </Button>
                }
              >
                {kind === 'tag'
                  ? 'A tag names one commit for good.'
                  : 'An alias names a commit and can be moved; its history says who moved it and why.'}
              </EmptyState>
            )
          }
        />
      )}
      {creating !== null && (
        <CreateRef repository={repository} kind={kind} source={creating} onClose={() => setCreating(null)} />
      )}
      {deleting.length > 0 && (
        <DeleteRefs
          repository={repository}
          refs={deleting}
          onClose={() => setDeleting([])}
          onDone={() => setSelected(new Set())}
        />
      )}
      {changing && (
        <BranchChangeDialog repository={repository} base={base} change={changing} onClose={() => setChanging(null)} />
      )}
      {history !== null && <AliasHistory repository={repository} alias={history} onClose={() => setHistory(null)} />}
    </div>
  );
}

/** The permission that removes a ref. */
function removal(repository: string, ref: NamedRef) {
  switch (ref.kind) {
    case 'branch':
      return { action: 'fs:DeleteBranch', on: resource.branch(repository, ref.name) };
    case 'tag':
      return { action: 'fs:DeleteTag', on: resource.tag(repository, ref.name) };
    default:
      return { action: 'fs:SetAlias', on: resource.alias(repository, ref.name.slice(1)) };
  }
}

function Head({ repository, at, part }: { repository: string; at: NamedRef; part: 'message' | 'time' }) {
  const head = useQuery({ ...commitOfRefQuery(repository, at.commit), staleTime: Infinity });
  if (!head.data) return null;
  if (part === 'time') return <Time at={head.data.creation_date} />;
  return (
    <span className={`muted ${styles.name}`}>
      <Name>{head.data.message.split('\n', 1)[0] || 'no message'}</Name>
    </span>
  );
}

function Ahead({
  repository,
  branch,
  base,
  baseCommit,
}: {
  repository: string;
  branch: NamedRef;
  base: string;
  baseCommit: string | undefined;
}) {
  // By commits, which are there when the branch is no more.
  const ahead = useQuery({
    ...aheadQuery(repository, branch.commit, baseCommit ?? ''),
    enabled: baseCommit !== undefined,
  });
  const behind = useQuery({
    ...aheadQuery(repository, baseCommit ?? '', branch.commit),
    enabled: baseCommit !== undefined,
  });
  if (ahead.data === undefined || behind.data === undefined) return null;
  const text = (value: number) => (value >= aheadMax ? `${count(aheadMax)}+` : count(value));
  const title = `${counted(ahead.data, 'commit')} that ${base} does not have, ${counted(behind.data, 'commit')} of ${base} that it does not have`;
  return (
    <Link
      to="/r/$repository/-/compare/$left/$right"
      params={{ repository, left: base, right: branch.name }}
      search={{}}
      title={title}
    >
      {ahead.data === 0 && behind.data === 0 ? 'even' : `${text(ahead.data)} ahead, ${text(behind.data)} behind`}
    </Link>
  );
}

/** A metric of the newest run, the one that gates look at first. Without any run of the repository, branches are not asked for theirs. */
function NewestRun({ repository, branch }: { repository: string; branch: string }) {
  const { data: sample } = useQuery(sampleQuery(repository));
  const { data: standards } = useQuery({
    ...standardsQuery(repository),
    enabled: sample !== undefined && sample.runs.length > 0,
  });
  const column = sample && standards && defaultColumns(sample.columns, standards.goals).find(isMetric);
  const { data: run } = useQuery({
    ...newestRunQuery(repository, branch, column ?? ''),
    enabled: column !== undefined,
  });
  if (!run || !column) return null;
  const value = valueOf(run, column);
  return (
    <Link to="/r/$repository/-/runs/$run" params={{ repository, run: run.id }} className={styles.name}>
      <Name>{value ? `${nameOf(column)} ${shownValue(value)}` : run.id.slice(0, 12)}</Name>
    </Link>
  );
}

function OpenRequests({ repository, branch }: { repository: string; branch: string }) {
  const open = useQuery(openRequestsQuery(repository));
  const mine = open.data?.filter((request) => request.source_branch === branch) ?? [];
  if (mine.length === 0) return null;
  return (
    <Link to="/r/$repository/-/requests/$request" params={{ repository, request: mine[0]!.id }} search={{}}>
      {counted(mine.length, 'open', 'open')}
    </Link>
  );
}

function Protection({ rules, branch }: { rules: readonly ProtectionRule[] | undefined; branch: string }) {
  const found = protectionOf(rules ?? [], branch);
  if (found.length === 0) return null;
  return (
    <span title={found.join('\n')}>
      <Badge kind="waiting">protected</Badge>
    </span>
  );
}
