import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api } from '@/api/client';
import { permitted, resource, useMay } from '@/api/permissions';
import { queryClient } from '@/api/query_client';
import { Button, IconButton } from '@/ui/button';
import { ConfirmDialog, FormDialog } from '@/ui/dialog';
import { TextField } from '@/ui/field';
import { Loaded } from '@/ui/states';
import { Time } from '@/ui/text';
import styles from './operations.module.css';

/** Commits that are kept whatever happens to their branches. */
export function Holds({ repository }: { repository: string }) {
  const path = { repository };
  const holds = useQuery({
    queryKey: ['gc', repository, 'holds'],
    queryFn: ({ signal }) =>
      permitted('retention:GetGarbageCollectionRules', resource.repository(repository), () =>
        answer(api.GET('/repositories/{repository}/gc/holds', { params: { path, query: { amount: 200 } }, signal })),
      ),
  });
  const may = useMay('retention:SetGarbageCollectionRules', resource.repository(repository));
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<string | null>(null);
  const [ref, setRef] = useState('');
  const [reason, setReason] = useState('');
  const [below, setPath] = useState('');
  const [until, setUntil] = useState('');
  const changed = () => void queryClient.invalidateQueries({ queryKey: ['gc', repository] });
  return (
    <section className="stack-tight" aria-label="Holds">
      <div className="page-head">
        <h2 className="grow">Held commits</h2>
        <Button icon="plus" refused={may.refused} onPress={() => setAdding(true)}>
          Hold a commit…
        </Button>
      </div>
      <Loaded query={holds} rows={1}>
        {(data) =>
          data.results.length === 0 ? (
            <p className="muted">None. A held commit and its objects are kept whatever happens to its branches.</p>
          ) : (
            <ul className={styles.list}>
              {data.results.map((hold) => (
                <li key={hold.id}>
                  <Link
                    to="/r/$repository/-/commits/$commit"
                    params={{ repository, commit: hold.commit_id }}
                    search={{}}
                  >
                    <code>{hold.commit_id.slice(0, 12)}</code>
                  </Link>
                  {hold.path && <code>{hold.path}</code>}
                  <span className="grow">{hold.reason}</span>
                  <span className="muted">
                    {hold.actor}, <Time at={hold.creation_date} />
                    {hold.until && (
                      <>
                        , until <Time at={hold.until} />
                      </>
                    )}
                  </span>
                  <IconButton
                    icon="close"
                    label={`Remove the hold of ${hold.commit_id.slice(0, 12)}`}
                    onPress={() => setRemoving(hold.id)}
                  />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {adding && (
        <FormDialog
          title="Hold a commit"
          action="Hold"
          isOpen
          onClose={() => setAdding(false)}
          refused={ref.trim() === '' || reason.trim() === '' ? 'Enter a ref and a reason' : undefined}
          onSubmit={async () => {
            await answer(
              api.POST('/repositories/{repository}/gc/holds', {
                params: { path },
                body: { ref, reason, ...(below ? { path: below } : {}), ...(until ? { until } : {}) },
              }),
            );
            changed();
            setRef('');
            setReason('');
            setPath('');
            setUntil('');
          }}
        >
          <TextField
            label="Ref"
            value={ref}
            onChange={setRef}
            mono
            autoFocus
            required
            help="A branch, tag, @alias or commit; what it means now is held"
          />
          <TextField
            label="Path"
            value={below}
            onChange={setPath}
            mono
            help="Only the objects whose paths begin with it; all without it"
          />
          <TextField
            label="Until"
            value={until}
            onChange={setUntil}
            placeholder="for ever"
            help="A time from now like 365d, or as in RFC 3339"
          />
          <TextField label="Reason" value={reason} onChange={setReason} required />
        </FormDialog>
      )}
      {removing !== null && (
        <ConfirmDialog
          title="Remove the hold?"
          action="Remove hold"
          isOpen
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            await answer(
              api.DELETE('/repositories/{repository}/gc/holds/{hold}', {
                params: { path: { ...path, hold: removing } },
              }),
            );
            changed();
          }}
        >
          <p>Garbage collection may then remove the commit once no ref reaches it.</p>
        </ConfirmDialog>
      )}
    </section>
  );
}
