import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api } from '@/api/client';
import { resource, useMay } from '@/api/permissions';
import { useRepository } from '@/app/use_repository';
import { Comparison } from '@/changes/comparison';
import { commitSides } from '@/changes/diff_queries';
import { branchChanged } from '@/objects/object_dialogs';
import { CreateRef, refsChanged } from '@/refs/ref_dialogs';
import { refsQuery, type RefKind } from '@/refs/ref_queries';
import { Button, buttonClass } from '@/ui/button';
import { CopyAs, CopyButton } from '@/ui/copy_as';
import { FormDialog } from '@/ui/dialog';
import { Select, TextField } from '@/ui/field';
import { counted } from '@/ui/format';
import { Menu, MenuItem } from '@/ui/menu';
import { RefPicker } from '@/ui/ref_picker';
import { shellWord, tarnUri } from '@/ui/snippets';
import { EmptyState, Loaded } from '@/ui/states';
import { Badge, Name, Time } from '@/ui/text';
import { toast } from '@/ui/toast';
import { authorOf, metadataOf } from './commit_facts';
import { type Commit, commitQuery } from './log_queries';
import styles from './history.module.css';

const route = getRouteApi('/signed-in/r/$repository/-/commits/$commit');

/** A commit: who, when, why, what it changed, and what can be made of it. */
export function CommitPage() {
  const { repository, commit } = route.useParams();
  const found = useQuery(commitQuery(repository, commit));
  return (
    <div className={`page-full ${styles.page}`}>
      <Loaded
        query={found}
        rows={8}
        heading={
          <>
            Commit <Name mono>{commit}</Name>
          </>
        }
      >
        {(data) => <CommitView repository={repository} commit={data} />}
      </Loaded>
    </div>
  );
}

type Action = 'revert' | 'cherry-pick' | RefKind;

function CommitView({ repository, commit }: { repository: string; commit: Commit }) {
  const search = route.useSearch();
  const navigate = useNavigate();
  const refs = useQuery(refsQuery(repository));
  const [action, setAction] = useState<Action | null>(null);
  const here = refs.data?.filter((ref) => ref.commit === commit.id) ?? [];
  const parentNumber = Math.min(search.parent ?? 1, Math.max(1, commit.parents.length));
  const parent = commit.parents[parentNumber - 1];
  const [headline, ...rest] = commit.message.split('\n');
  const { given, internal } = metadataOf(commit);
  const uri = shellWord(tarnUri(repository, commit.id).slice(0, -1));
  return (
    <>
      <div className="page-head">
        <h1 className="grow">{headline || 'no message'}</h1>
        <div className="toolbar">
          <CopyAs
            snippets={[
              { label: 'commit id', text: commit.id },
              { label: 'tarn show', text: `tarn show ${uri}` },
              { label: 'tarn cherry-pick', text: `tarn cherry-pick ${uri} tarn://${repository}/BRANCH` },
            ]}
          />
          <Link
            to="/r/$repository/$ref/data"
            params={{ repository, ref: commit.id }}
            search={{}}
            className={buttonClass()}
          >
            Browse
          </Link>
          <Menu label="Make of it" trigger={<Button icon="more">Actions</Button>}>
            <MenuItem
              icon="history"
              onAction={() => setAction('revert')}
              refused={commit.parents.length === 0 ? 'The first commit has nothing to go back to' : undefined}
              detail="A commit that undoes it"
            >
              Revert…
            </MenuItem>
            <MenuItem
              icon="commit"
              onAction={() => setAction('cherry-pick')}
              refused={commit.parents.length === 0 ? 'The first commit has no changes' : undefined}
              detail="Its changes, on another branch"
            >
              Cherry-pick…
            </MenuItem>
            <MenuItem icon="branch" onAction={() => setAction('branch')}>
              Branch from here…
            </MenuItem>
            <MenuItem icon="tag" onAction={() => setAction('tag')}>
              Tag it…
            </MenuItem>
            <MenuItem icon="alias" onAction={() => setAction('alias')}>
              Set an alias…
            </MenuItem>
          </Menu>
        </div>
      </div>
      {rest.join('\n').trim() !== '' && <p className={styles.full}>{rest.join('\n').trim()}</p>}
      <dl className="facts">
        <dt>Commit</dt>
        <dd className="toolbar" style={{ marginBlock: -6 }}>
          <code style={{ minWidth: 0 }}>{commit.id}</code>
          <CopyButton text={commit.id} label="Copy commit id" />
        </dd>
        <dt>Author</dt>
        <dd>
          {authorOf(commit)}, <Time at={commit.creation_date} />
        </dd>
        <dt>{commit.parents.length > 1 ? 'Parents' : 'Parent'}</dt>
        <dd>
          {commit.parents.length === 0
            ? 'none'
            : commit.parents.map((id, index) => (
                <span key={id}>
                  {index > 0 && ', '}
                  <Link to="/r/$repository/-/commits/$commit" params={{ repository, commit: id }} search={{}}>
                    <code>{id.slice(0, 12)}</code>
                  </Link>
                </span>
              ))}
        </dd>
        {here.length > 0 && (
          <>
            <dt>Refs</dt>
            <dd className="toolbar">
              {here.slice(0, 20).map((ref) => (
                <Badge key={ref.name} kind="accent">
                  {ref.name}
                </Badge>
              ))}
            </dd>
          </>
        )}
        {given.map(([key, value]) => (
          <MetadataFact key={key} name={key} value={value} />
        ))}
      </dl>
      {internal.length > 0 && (
        <details>
          <summary className="muted">{counted(internal.length, 'value')} of the server</summary>
          <dl className="facts">
            {internal.map(([key, value]) => (
              <MetadataFact key={key} name={key} value={value} />
            ))}
          </dl>
        </details>
      )}
      {commit.parents.length > 1 && (
        <div style={{ maxWidth: 320 }}>
          <Select
            label="Changes against"
            value={String(parentNumber)}
            onChange={(value) => void navigate({ to: '.', search: { parent: Number(value) } })}
            options={commit.parents.map((id, index) => ({
              value: String(index + 1),
              label: `parent ${index + 1}, ${id.slice(0, 12)}`,
            }))}
          />
        </div>
      )}
      <div className={styles.comparison}>
        <h2>Changes</h2>
        {parent === undefined ? (
          <EmptyState icon="commit">The first commit is empty.</EmptyState>
        ) : (
          <Comparison
            sides={commitSides(repository, parent, commit.id)}
            place={search}
            onPlace={(place) => void navigate({ to: '.', search: { parent: search.parent, ...place } })}
            empty={<EmptyState icon="check">It holds the same objects as its parent.</EmptyState>}
          />
        )}
      </div>
      {(action === 'revert' || action === 'cherry-pick') && (
        <ApplyCommit
          repository={repository}
          commit={commit}
          action={action}
          parentNumber={parentNumber}
          onClose={() => setAction(null)}
        />
      )}
      {(action === 'branch' || action === 'tag' || action === 'alias') && (
        <CreateRef repository={repository} kind={action} source={commit.id} onClose={() => setAction(null)} />
      )}
    </>
  );
}

function MetadataFact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>
        <Name mono>{name}</Name>
      </dt>
      <dd className="mono">{value}</dd>
    </>
  );
}

/** Reverts a commit on a branch, or applies its changes there. */
function ApplyCommit({
  repository,
  commit,
  action,
  parentNumber,
  onClose,
}: {
  repository: string;
  commit: Commit;
  action: 'revert' | 'cherry-pick';
  parentNumber: number;
  onClose: () => void;
}) {
  const navigate = useNavigate();
  const defaultBranch = useRepository(repository)?.default_branch ?? 'main';
  const [branch, setBranch] = useState(defaultBranch);
  const [message, setMessage] = useState('');
  const may = useMay(action === 'revert' ? 'fs:RevertBranch' : 'fs:CreateCommit', resource.branch(repository, branch));
  const apply = async () => {
    const params = { path: { repository, branch } };
    const overrides = message.trim() === '' ? {} : { commit_overrides: { message } };
    if (action === 'revert') {
      await answer(
        api.POST('/repositories/{repository}/branches/{branch}/revert', {
          params,
          body: {
            ref: commit.id,
            parent_number: commit.parents.length > 1 ? parentNumber : 0,
            force: false,
            allow_empty: false,
            ...overrides,
          },
        }),
      );
    } else {
      await answer(
        api.POST('/repositories/{repository}/branches/{branch}/cherry-pick', {
          params,
          body: {
            ref: commit.id,
            force: false,
            ...(commit.parents.length > 1 ? { parent_number: parentNumber } : {}),
            ...overrides,
          },
        }),
      );
    }
    branchChanged(repository, branch);
    void refsChanged(repository);
    toast(action === 'revert' ? `Reverted on ${branch}` : `Applied to ${branch}`);
    void navigate({ to: '/r/$repository/$ref/history', params: { repository, ref: branch }, search: {} });
  };
  return (
    <FormDialog
      title={`${action === 'revert' ? 'Revert' : 'Cherry-pick'} ${commit.id.slice(0, 12)}`}
      action={action === 'revert' ? `Revert on ${branch}` : `Apply to ${branch}`}
      isOpen
      onClose={onClose}
      refused={may.refused}
      onSubmit={apply}
    >
      <p>
        {action === 'revert'
          ? 'Adds a commit to the branch that undoes this one; where later commits changed the same objects, it is refused.'
          : 'Adds a commit to the branch with the changes of this one.'}
        {commit.parents.length > 1 && ` Changes are those against parent ${parentNumber}.`}
      </p>
      <div className="toolbar">
        On branch{' '}
        <RefPicker repository={repository} label="Branch" value={branch} onChange={setBranch} kinds={['branch']} />
      </div>
      <TextField
        label="Message"
        value={message}
        onChange={setMessage}
        rows={2}
        placeholder={action === 'revert' ? `Revert ${commit.id.slice(0, 12)}` : commit.message}
      />
    </FormDialog>
  );
}
