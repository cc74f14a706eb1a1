import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { resource, useMay } from '@/api/permissions';
import { branchQuery } from '@/refs/ref_queries';
import { Button, IconButton, buttonClass } from '@/ui/button';
import { CopyAs } from '@/ui/copy_as';
import { Select } from '@/ui/field';
import { RefPicker } from '@/ui/ref_picker';
import { shellWord, tarnUri } from '@/ui/snippets';
import { EmptyState, ErrorPanel, Skeleton } from '@/ui/states';
import { Comparison } from './comparison';
import { commitOfRefQuery, type Sides } from './diff_queries';
import { MergeDialog } from './merge_dialog';

const route = getRouteApi('/signed-in/r/$repository/-/compare/$left/$right');

/** Any ref against any ref; from here one is merged into the other. */
export function ComparePage() {
  const { repository, left, right } = route.useParams();
  const search = route.useSearch();
  const navigate = useNavigate();
  const type = search.type ?? 'three_dot';
  const branch = useQuery(branchQuery(repository, left));
  const may = useMay('fs:CreateCommit', resource.branch(repository, left));
  const [merging, setMerging] = useState(false);
  const go = (to: { left: string; right: string }) =>
    void navigate({
      to: '/r/$repository/-/compare/$left/$right',
      params: { repository, ...to },
      search: { type: search.type },
    });
  const refused = branch.data === null ? `${left} is no branch: only a branch can be merged into` : may.refused;
  const uri = (ref: string) => shellWord(tarnUri(repository, ref).slice(0, -1));
  return (
    <div className="page-full">
      <div className="page-head">
        <h1>Compare</h1>
        <RefPicker
          repository={repository}
          value={left}
          label="Left side"
          onChange={(next) => go({ left: next, right })}
        />
        <IconButton icon="arrowLeft" kind="plain" label="Swap sides" onPress={() => go({ left: right, right: left })} />
        <RefPicker
          repository={repository}
          value={right}
          label="Right side"
          onChange={(next) => go({ left, right: next })}
        />
        <Select
          label="Kind of comparison"
          hideLabel
          value={type}
          onChange={(next) =>
            void navigate({ to: '.', search: { ...search, type: next === 'two_dot' ? next : undefined } })
          }
          options={[
            { value: 'three_dot', label: `What ${right} brings` },
            { value: 'two_dot', label: 'Every difference' },
          ]}
        />
        <span className="grow" />
        <div className="toolbar">
          <CopyAs
            snippets={[
              { label: 'tarn diff', text: `tarn diff ${uri(left)} ${uri(right)}` },
              { label: 'tarn merge', text: `tarn merge ${uri(right)} ${uri(left)}` },
            ]}
          />
          {branch.data && (
            <Link
              to="/r/$repository/-/requests"
              params={{ repository }}
              search={{ create: true, source: right, destination: left }}
              className={buttonClass()}
            >
              Open a request
            </Link>
          )}
          <Button kind="primary" refused={refused} onPress={() => setMerging(true)}>
            Merge into {left}…
          </Button>
        </div>
      </div>
      <CompareRefs
        repository={repository}
        left={left}
        right={right}
        type={type}
        place={search}
        onPlace={(place) => void navigate({ to: '.', search: { type: search.type, ...place } })}
      />
      {merging && (
        <MergeDialog repository={repository} source={right} destination={left} onClose={() => setMerging(false)} />
      )}
    </div>
  );
}

interface CompareRefsProps {
  repository: string;
  left: string;
  right: string;
  type: Sides['type'];
  place: { prefix?: string | undefined; object?: string | undefined };
  onPlace: (place: { prefix?: string | undefined; object?: string | undefined }) => void;
  objectActions?: (path: string) => ReactNode;
}

/** The comparison of what two refs mean now. */
export function CompareRefs({ repository, left, right, type, place, onPlace, objectActions }: CompareRefsProps) {
  const before = useQuery(commitOfRefQuery(repository, left));
  const after = useQuery(commitOfRefQuery(repository, right));
  const error = before.error ?? after.error;
  if (error)
    return (
      <ErrorPanel
        error={error}
        onRetry={() => {
          void before.refetch();
          void after.refetch();
        }}
      />
    );
  if (!before.data || !after.data) return <Skeleton rows={8} />;
  const sides: Sides = {
    repository,
    left: before.data.id,
    right: after.data.id,
    type,
    readLeft: before.data.id,
    readRight: after.data.id,
  };
  return (
    <Comparison
      sides={sides}
      place={place}
      onPlace={onPlace}
      {...(objectActions ? { objectActions } : {})}
      empty={
        <EmptyState
          icon="check"
          action={
            <Link
              to="/r/$repository/$ref/data"
              params={{ repository, ref: right }}
              search={{}}
              className={buttonClass()}
            >
              Go to {right}
            </Link>
          }
        >
          {before.data.id === after.data.id
            ? `${left} and ${right} are at the same commit.`
            : type === 'three_dot'
              ? `${right} has nothing that ${left} does not have.`
              : `${left} and ${right} hold the same objects.`}{' '}
          Uncommitted changes are not compared.
        </EmptyState>
      }
    />
  );
}
