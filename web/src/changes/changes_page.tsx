import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { resource, useMay } from '@/api/permissions';
import { CommitDialog } from '@/objects/commit_dialog';
import { branchQuery } from '@/refs/ref_queries';
import { Button, buttonClass } from '@/ui/button';
import { CopyAs } from '@/ui/copy_as';
import { RefPicker } from '@/ui/ref_picker';
import { shellWord, tarnUri } from '@/ui/snippets';
import { EmptyState, Loaded } from '@/ui/states';
import { useRepository } from '@/app/use_repository';
import { Comparison } from './comparison';
import { objectCount, summaryQuery, uncommittedSides } from './diff_queries';
import { ResetDialog, type ResetScope } from './reset_dialog';

const route = getRouteApi('/signed-in/r/$repository/$ref/changes');

/** The uncommitted changes of a branch: review, commit, reset. */
export function ChangesPage() {
  const { repository, ref } = route.useParams();
  const navigate = useNavigate();
  const branch = useQuery(branchQuery(repository, ref));
  const loaded = useRepository(repository);
  const base = loaded?.default_branch;
  return (
    <div className="page-full">
      <div className="page-head">
        <h1>Changes</h1>
        <RefPicker
          repository={repository}
          value={ref}
          label="Branch"
          onChange={(next) =>
            void navigate({ to: '/r/$repository/$ref/changes', params: { repository, ref: next }, search: {} })
          }
        />
        {base !== undefined && base !== ref && (
          <Link
            to="/r/$repository/-/compare/$left/$right"
            params={{ repository, left: base, right: ref }}
            search={{}}
            className={buttonClass()}
          >
            Compare with {base}
          </Link>
        )}
        <span className="grow" />
        {branch.data && <Actions repository={repository} branch={ref} />}
      </div>
      <Loaded query={branch} rows={6}>
        {(found) =>
          found ? (
            <Uncommitted repository={repository} branch={ref} />
          ) : (
            <EmptyState
              icon="diff"
              action={
                base !== undefined && (
                  <Link
                    to="/r/$repository/-/compare/$left/$right"
                    params={{ repository, left: base, right: ref }}
                    search={{}}
                    className={buttonClass('primary')}
                  >
                    Compare with {base}
                  </Link>
                )
              }
            >
              Only a branch has uncommitted changes, and {ref} is none. It can be compared with any other ref.
            </EmptyState>
          )
        }
      </Loaded>
    </div>
  );
}

function Actions({ repository, branch }: { repository: string; branch: string }) {
  const summary = useQuery(summaryQuery(uncommittedSides(repository, branch), ''));
  const mayCommit = useMay('fs:CreateCommit', resource.branch(repository, branch));
  const mayReset = useMay('fs:RevertBranch', resource.branch(repository, branch));
  const [dialog, setDialog] = useState<'commit' | 'reset' | null>(null);
  const nothing = summary.data && objectCount(summary.data) === 0 ? 'There are no uncommitted changes' : undefined;
  const uri = shellWord(tarnUri(repository, branch).slice(0, -1));
  return (
    <div className="toolbar">
      <CopyAs
        snippets={[
          { label: 'tarn diff', text: `tarn diff ${uri}` },
          { label: 'tarn commit', text: `tarn commit ${uri} -m MESSAGE` },
          { label: 'tarn reset', text: `tarn branch reset ${uri}` },
        ]}
      />
      <Button kind="danger" refused={nothing ?? mayReset.refused} onPress={() => setDialog('reset')}>
        Reset…
      </Button>
      <Button kind="primary" refused={nothing ?? mayCommit.refused} onPress={() => setDialog('commit')}>
        Commit…
      </Button>
      <CommitDialog
        repository={repository}
        branch={branch}
        isOpen={dialog === 'commit'}
        onClose={() => setDialog(null)}
      />
      {dialog === 'reset' && (
        <ResetDialog
          repository={repository}
          branch={branch}
          scope={{ type: 'reset' }}
          onClose={() => setDialog(null)}
          onDone={() => undefined}
        />
      )}
    </div>
  );
}

function Uncommitted({ repository, branch }: { repository: string; branch: string }) {
  const search = route.useSearch();
  const navigate = useNavigate({ from: '/r/$repository/$ref/changes' });
  const mayReset = useMay('fs:RevertBranch', resource.branch(repository, branch));
  const [scope, setScope] = useState<ResetScope | null>(null);
  return (
    <>
      <Comparison
        sides={uncommittedSides(repository, branch)}
        place={search}
        onPlace={(place) => void navigate({ search: place })}
        objectActions={(path) => (
          <Button kind="danger" refused={mayReset.refused} onPress={() => setScope({ type: 'object', path })}>
            Reset object…
          </Button>
        )}
        prefixActions={(prefix) =>
          prefix !== '' && (
            <Button
              kind="danger"
              refused={mayReset.refused}
              onPress={() => setScope({ type: 'common_prefix', path: prefix })}
            >
              Reset folder…
            </Button>
          )
        }
        empty={
          <EmptyState
            icon="check"
            command={`tarn fs upload FILE ${shellWord(tarnUri(repository, branch))}`}
            action={
              <Link
                to="/r/$repository/$ref/data"
                params={{ repository, ref: branch }}
                search={{}}
                className={buttonClass()}
              >
                Go to the data
              </Link>
            }
          >
            Everything on {branch} is committed.
          </EmptyState>
        }
      />
      {scope && (
        <ResetDialog
          repository={repository}
          branch={branch}
          scope={scope}
          onClose={() => setScope(null)}
          onDone={() => void navigate({ search: { prefix: scope.type === 'object' ? search.prefix : undefined } })}
        />
      )}
    </>
  );
}
