import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { answer, api } from '@/api/client';
import { queryClient } from '@/api/query_client';
import { branchChanged } from '@/objects/object_dialogs';
import { Button, IconButton } from '@/ui/button';
import { FormDialog } from '@/ui/dialog';
import { Checkbox, PairsField, Select, TextField } from '@/ui/field';
import { counted, shortRef } from '@/ui/format';
import { Loaded } from '@/ui/states';
import { Name } from '@/ui/text';
import { toast } from '@/ui/toast';
import { DiffCounts } from './diff_counts';
import { objectCount, type Sides, summaryQuery } from './diff_queries';
import { type Resolution, resolutionsOf, type Take } from './resolutions';
import styles from './changes.module.css';

/** Conflicts that can be settled one by one here; more are settled by patterns. */
const listedMax = 500;

export interface MergeTerms {
  message: string;
  metadata: Record<string, string>;
  strategy: string;
  squash: boolean;
  resolutions: Resolution[];
}

interface MergeDialogProps {
  repository: string;
  source: string;
  destination: string;
  onClose: () => void;
  /** Does the merge; without it the refs are merged. */
  onMerge?: (terms: MergeTerms) => Promise<unknown>;
  /** Below the other choices. */
  more?: ReactNode;
}

/** The dry run of a merge, how its conflicts are settled, and the button that does it. */
export function MergeDialog({ repository, source, destination, onClose, onMerge, more }: MergeDialogProps) {
  const sides: Sides = {
    repository,
    left: destination,
    right: source,
    type: 'three_dot',
    readLeft: destination,
    readRight: source,
  };
  const summary = useQuery({ ...summaryQuery(sides, ''), staleTime: 0 });
  const base = useQuery({
    queryKey: ['diff', repository, 'merge-base', source, destination],
    queryFn: ({ signal }) =>
      answer(
        api.GET('/repositories/{repository}/refs/{sourceRef}/merge/{destinationBranch}', {
          params: { path: { repository, sourceRef: source, destinationBranch: destination } },
          signal,
        }),
      ),
  });
  const conflicts = useQuery({
    queryKey: ['diff', repository, 'conflicts', source, destination],
    enabled: (summary.data?.conflicts ?? 0) > 0,
    queryFn: ({ signal }) =>
      answer(
        api.GET('/repositories/{repository}/refs/{sourceRef}/merge/{destinationBranch}/conflicts', {
          params: {
            path: { repository, sourceRef: source, destinationBranch: destination },
            query: { amount: listedMax },
          },
          signal,
        }),
      ),
  });
  const [message, setMessage] = useState('');
  const [pairs, setPairs] = useState<[string, string][]>([]);
  const [strategy, setStrategy] = useState('');
  const [squash, setSquash] = useState(false);
  const [byPath, setByPath] = useState<ReadonlyMap<string, Take>>(() => new Map());
  const [patterns, setPatterns] = useState<Resolution[]>([]);
  const resolutions = resolutionsOf(byPath, patterns);
  const open = (summary.data?.conflicts ?? 0) - byPath.size;
  const refused =
    summary.data && objectCount(summary.data) === 0
      ? `${source} has nothing that ${destination} does not have`
      : open > 0 && strategy === '' && patterns.every((item) => item.glob.trim() === '')
        ? `${counted(open, 'conflict')} to settle first: by path, by pattern or by strategy`
        : undefined;

  const merge = async () => {
    const terms = { message, metadata: Object.fromEntries(pairs), strategy, squash, resolutions };
    if (onMerge) await onMerge(terms);
    else {
      await answer(
        api.POST('/repositories/{repository}/refs/{sourceRef}/merge/{destinationBranch}', {
          params: { path: { repository, sourceRef: source, destinationBranch: destination } },
          body: {
            message,
            metadata: terms.metadata,
            strategy,
            squash_merge: squash,
            resolutions,
            force: false,
            allow_empty: false,
            allow_dirty: false,
          },
        }),
      );
    }
    branchChanged(repository, destination);
    for (const name of ['refs', 'log', 'last-commit', 'branch', 'pulls'])
      void queryClient.invalidateQueries({ queryKey: [name, repository] });
    toast(`Merged ${source} into ${destination}`);
  };
  return (
    <FormDialog
      wide
      title={`Merge ${shortRef(source)} into ${destination}`}
      action={`Merge into ${destination}`}
      isOpen
      onClose={onClose}
      refused={refused}
      onSubmit={merge}
    >
      <Loaded query={summary} rows={2}>
        {(data) => (
          <div className="stack-tight">
            <p>
              Changes {counted(data.added.objects + data.removed.objects + data.changed.objects, 'object')} on{' '}
              {destination}
              {data.conflicts > 0 && <> and has {counted(data.conflicts, 'conflict')}</>}: <DiffCounts of={data} />
            </p>
            {base.data && (
              <p className="muted">
                Both go back to commit <span className="mono">{base.data.base_commit_id.slice(0, 12)}</span>. No bytes
                are copied.
              </p>
            )}
          </div>
        )}
      </Loaded>
      {(summary.data?.conflicts ?? 0) > 0 && (
        <>
          <h3>Conflicts</h3>
          <Loaded query={conflicts} rows={3}>
            {(data) => (
              <div className={styles.conflictList} role="list" aria-label="Conflicts" tabIndex={0}>
                {data.results.map((conflict) => (
                  <div key={conflict.path} role="listitem" className={styles.conflictRow}>
                    <span>
                      <Name mono>{conflict.path}</Name>
                    </span>
                    <select
                      className={styles.choice}
                      aria-label={`Take of ${conflict.path}`}
                      value={byPath.get(conflict.path) ?? ''}
                      onChange={(event) => {
                        const next = new Map(byPath);
                        if (event.target.value === '') next.delete(conflict.path);
                        else next.set(conflict.path, event.target.value as Take);
                        setByPath(next);
                      }}
                    >
                      <option value="">not settled</option>
                      <option value="source">{`${conflict.source ? 'take' : 'removed, as in'} ${shortRef(source)}`}</option>
                      <option value="dest">{`${conflict.destination ? 'keep' : 'removed, as in'} ${destination}`}</option>
                    </select>
                  </div>
                ))}
              </div>
            )}
          </Loaded>
          {conflicts.data?.pagination.has_more && (
            <p className="muted">The first {counted(listedMax, 'conflict')}; settle the rest by pattern or strategy.</p>
          )}
          {patterns.map((item, at) => (
            <div key={at} className={styles.patternRow}>
              <TextField
                label={`Pattern ${at + 1}`}
                mono
                value={item.glob}
                placeholder="data/**"
                onChange={(glob) => setPatterns(patterns.map((old, index) => (index === at ? { ...old, glob } : old)))}
              />
              <Select
                label="Take"
                value={item.take}
                onChange={(take) => setPatterns(patterns.map((old, index) => (index === at ? { ...old, take } : old)))}
                options={[
                  { value: 'source', label: 'Source' },
                  { value: 'dest', label: 'Destination' },
                ]}
              />
              <IconButton
                icon="trash"
                label={`Remove pattern ${at + 1}`}
                onPress={() => setPatterns(patterns.filter((_, index) => index !== at))}
              />
            </div>
          ))}
          <div>
            <Button icon="plus" onPress={() => setPatterns([...patterns, { glob: '', take: 'source' }])}>
              Settle by pattern
            </Button>
          </div>
          <Select
            label="Conflicts that are left"
            value={strategy}
            onChange={setStrategy}
            options={[
              { value: '', label: 'Refuse the merge' },
              { value: 'source-wins', label: `Take ${shortRef(source)}` },
              { value: 'dest-wins', label: `Keep ${destination}` },
            ]}
          />
        </>
      )}
      <TextField
        label="Message"
        value={message}
        onChange={setMessage}
        rows={2}
        placeholder={`Merge '${shortRef(source)}' into '${destination}'`}
      />
      <PairsField label="Metadata" pairs={pairs} onChange={setPairs} />
      <Checkbox checked={squash} onChange={setSquash} help="The commit does not have the source as a parent.">
        Squash
      </Checkbox>
      {more}
    </FormDialog>
  );
}
