import { useQuery } from '@tanstack/react-query';
import { Fragment, useState } from 'react';
import { answer, api } from '@/api/client';
import { resource, useMay } from '@/api/permissions';
import { Button } from '@/ui/button';
import { ConfirmDialog, FormDialog } from '@/ui/dialog';
import { TextField } from '@/ui/field';
import { bytes, count } from '@/ui/format';
import { Loaded, Progress } from '@/ui/states';
import { Badge, Time } from '@/ui/text';
import { toast } from '@/ui/toast';
import { type Quota, quotasQuery, settingsChanged } from './settings_queries';
import { parseSize, writeSize } from './sizes';
import styles from './settings.module.css';

const kinds = [
  { id: 'bytes', label: 'Bytes' },
  { id: 'objects', label: 'Objects' },
  { id: 'branches', label: 'Branches' },
  { id: 'uploads', label: 'Open uploads' },
  { id: 'metadata_bytes', label: 'Metadata' },
] as const;
type Kind = (typeof kinds)[number]['id'];

const shown = (kind: Kind, value: number) => (kind.endsWith('bytes') ? bytes(value) : count(value));
const ofWhom = (quota: Quota) =>
  [quota.user ? `user ${quota.user}` : '', quota.branches ? `branches ${quota.branches}` : '']
    .filter(Boolean)
    .join(', ') || 'the repository';

/** Limits of what is stored here, with their usage. */
export function Quotas({ repository }: { repository: string }) {
  const quotas = useQuery(quotasQuery(repository));
  const may = useMay('retention:SetQuotas', resource.repository(repository));
  const [editing, setEditing] = useState<{ quota?: Quota } | null>(null);
  const [removing, setRemoving] = useState<Quota | null>(null);
  const of = (quota: Quota) => ({
    path: { repository },
    query: { ...(quota.user ? { user: quota.user } : {}), ...(quota.branches ? { branches: quota.branches } : {}) },
  });
  return (
    <section className="stack-tight" aria-label="Quotas">
      <div className="page-head">
        <h2 className="grow">Quotas</h2>
        <Button icon="plus" refused={may.refused} onPress={() => setEditing({})}>
          Set a quota…
        </Button>
      </div>
      <p className="muted">
        Past a soft limit writes succeed with a warning; at a hard limit what adds more is refused. Deleting and merging
        always work.
      </p>
      <Loaded query={quotas} rows={2}>
        {(data) =>
          data.length === 0 ? (
            <p>None: what is stored here is not limited.</p>
          ) : (
            <ul className={styles.rules}>
              {data.map((quota) => (
                <li key={ofWhom(quota)} className={styles.rule}>
                  <div className={styles.what}>
                    <strong>Of {ofWhom(quota)}</strong>
                    <div className={styles.usage}>
                      {kinds
                        .filter((kind) => quota.limits[kind.id])
                        .map(({ id, label }) => {
                          const limit = quota.limits[id]!;
                          const used = quota.usage[id] ?? 0;
                          const most = limit.hard ?? limit.soft ?? 0;
                          return (
                            <Fragment key={id}>
                              <span>{label}</span>
                              <Progress label={`${label} of ${ofWhom(quota)}`} value={most === 0 ? 1 : used / most} />
                              <span>
                                {shown(id, used)} of{' '}
                                {[
                                  limit.soft !== undefined && `${shown(id, limit.soft)} soft`,
                                  limit.hard !== undefined && `${shown(id, limit.hard)} hard`,
                                ]
                                  .filter(Boolean)
                                  .join(', ')}{' '}
                                {limit.hard !== undefined && used >= limit.hard ? (
                                  <Badge kind="removed">full</Badge>
                                ) : (
                                  limit.soft !== undefined &&
                                  used >= limit.soft && <Badge kind="changed">past the soft limit</Badge>
                                )}
                              </span>
                            </Fragment>
                          );
                        })}
                    </div>
                    <span className="muted">
                      {quota.recounted_at ? (
                        <>
                          counted <Time at={quota.recounted_at} />
                        </>
                      ) : (
                        'being counted'
                      )}
                    </span>
                  </div>
                  <div className={styles.actions}>
                    <Button
                      kind="quiet"
                      icon="edit"
                      aria-label={`Change the quota of ${ofWhom(quota)}`}
                      refused={may.refused}
                      onPress={() => setEditing({ quota })}
                    >
                      Change…
                    </Button>
                    <Button
                      kind="quiet"
                      icon="trash"
                      aria-label={`Remove the quota of ${ofWhom(quota)}`}
                      refused={may.refused}
                      onPress={() => setRemoving(quota)}
                    >
                      Remove…
                    </Button>
                  </div>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {editing && <QuotaForm repository={repository} quota={editing.quota} onClose={() => setEditing(null)} />}
      {removing && (
        <ConfirmDialog
          title={`Remove the quota of ${ofWhom(removing)}?`}
          action="Remove quota"
          isOpen
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            await answer(api.DELETE('/repositories/{repository}/quotas', { params: of(removing) }));
            settingsChanged(repository);
          }}
        >
          <p>
            {bytes(removing.usage.bytes)} in {count(removing.usage.objects)} objects count for it now; then nothing
            limits them here.
          </p>
        </ConfirmDialog>
      )}
    </section>
  );
}

type Written = Record<Kind, { soft: string; hard: string }>;

function QuotaForm({
  repository,
  quota,
  onClose,
}: {
  repository: string;
  quota: Quota | undefined;
  onClose: () => void;
}) {
  const [user, setUser] = useState(quota?.user ?? '');
  const [branches, setBranches] = useState(quota?.branches ?? '');
  const [written, setWritten] = useState<Written>(
    () =>
      Object.fromEntries(
        kinds.map(({ id }) => {
          const text = (value: number | undefined) =>
            id.endsWith('bytes') ? writeSize(value) : value === undefined ? '' : String(value);
          return [id, { soft: text(quota?.limits[id]?.soft), hard: text(quota?.limits[id]?.hard) }];
        }),
      ) as Written,
  );
  const limits: Partial<Record<Kind, { soft?: number; hard?: number }>> = {};
  let wrong: string | undefined;
  for (const { id, label } of kinds) {
    const soft = parseSize(written[id].soft);
    const hard = parseSize(written[id].hard);
    if (soft === null || hard === null) wrong ??= `${label}: a number${id.endsWith('bytes') ? ', as 500 GB' : ''}`;
    else if (soft !== undefined && hard !== undefined && soft > hard)
      wrong ??= `${label}: the soft limit is at most the hard one`;
    else if (soft !== undefined || hard !== undefined)
      limits[id] = { ...(soft === undefined ? {} : { soft }), ...(hard === undefined ? {} : { hard }) };
  }
  return (
    <FormDialog
      title={quota ? `Quota of ${ofWhom(quota)}` : 'Set a quota'}
      action="Save"
      isOpen
      wide
      onClose={onClose}
      refused={wrong ?? (Object.keys(limits).length === 0 ? 'Enter a limit' : undefined)}
      onSubmit={async () => {
        await answer(
          api.PUT('/repositories/{repository}/quotas', {
            params: { path: { repository } },
            body: { limits, ...(user ? { user } : {}), ...(branches ? { branches } : {}) },
          }),
        );
        settingsChanged(repository);
        toast('The quota holds on all servers in two seconds');
      }}
    >
      {!quota && (
        <>
          <TextField
            label="User"
            value={user}
            onChange={setUser}
            mono
            help="Only what this user stores; all users without it"
          />
          <TextField
            label="Branches"
            value={branches}
            onChange={setBranches}
            mono
            placeholder="exp-*"
            help="Only what is uploaded to branches of this pattern; all without it"
          />
        </>
      )}
      <div className={styles.limits}>
        <span />
        <span className="muted">soft</span>
        <span className="muted">hard</span>
        {kinds.map(({ id, label }) => (
          <Fragment key={id}>
            <span>{label}</span>
            {(['soft', 'hard'] as const).map((side) => (
              <TextField
                key={side}
                label={`${label}, ${side}`}
                hideLabel
                value={written[id][side]}
                placeholder={id.endsWith('bytes') ? '500 GB' : ''}
                onChange={(text) => setWritten({ ...written, [id]: { ...written[id], [side]: text } })}
              />
            ))}
          </Fragment>
        ))}
      </div>
    </FormDialog>
  );
}
