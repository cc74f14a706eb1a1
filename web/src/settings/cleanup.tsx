import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api } from '@/api/client';
import { resource, useMay } from '@/api/permissions';
import { Button, buttonClass } from '@/ui/button';
import { ConfirmDialog, FormDialog } from '@/ui/dialog';
import { Checkbox, TextField } from '@/ui/field';
import { count, counted } from '@/ui/format';
import { Loaded } from '@/ui/states';
import { Badge } from '@/ui/text';
import { toast } from '@/ui/toast';
import { MatchingRefs } from './matching_refs';
import { type CleanupRule, cleanupQuery, settingsChanged } from './settings_queries';
import styles from './settings.module.css';

const daysMax = 3660;
const noticeDefault = 7;
const deletionsDefault = 100;
const deletionsMax = 10_000;

/** Rules for branches that nobody commits to; of several that match a branch the first counts. */
export function Cleanup({ repository }: { repository: string }) {
  const query = useQuery(cleanupQuery(repository));
  const may = useMay('retention:SetGarbageCollectionRules', resource.repository(repository));
  // By pattern: the rules may be others when they are read again.
  const [editing, setEditing] = useState<{ before?: CleanupRule } | 'most' | null>(null);
  const [removing, setRemoving] = useState<string | null>(null);
  const present = query.data;
  const rules = present?.rules ?? [];
  const most = present?.deletions_max ?? deletionsDefault;
  const store = async (next: CleanupRule[], deletions = most) => {
    await answer(
      api.PUT('/repositories/{repository}/settings/branch_cleanup', {
        params: { path: { repository }, header: { 'If-Match': present!.etag } },
        body: { rules: next, deletions_max: deletions },
      }),
    ).finally(() => settingsChanged(repository));
  };
  const [failed, setFailed] = useState<Error | null>(null);
  const raise = (at: number) => {
    const next = [...rules];
    next.splice(at - 1, 0, ...next.splice(at, 1));
    setFailed(null);
    store(next).catch((error: Error) => setFailed(error));
  };
  return (
    <section className="stack-tight" aria-label="Stale branches">
      <div className="page-head">
        <h2 className="grow">Stale branches</h2>
        <Link
          to="/r/$repository/-/branches"
          params={{ repository }}
          search={{ kind: 'stale' }}
          className={buttonClass()}
        >
          What they delete
        </Link>
        <Button icon="plus" refused={may.refused} onPress={() => setEditing({})}>
          Add rule…
        </Button>
      </div>
      <p className="muted">
        Branches without a commit for so many days are named stale, or deleted after a notice. Never deleted are the
        default branch, protected branches, and branches that are in use: by uncommitted changes, uploads, imports,
        requests, promotions, policies, aliases, holds, or an expiry of their own. Of several rules that match a branch
        the first counts.
      </p>
      {failed && <p role="alert">{failed.message}</p>}
      <Loaded query={query} rows={2}>
        {() =>
          rules.length === 0 ? (
            <p>None: no branch is deleted by itself.</p>
          ) : (
            <>
              <ol className={styles.rules}>
                {rules.map((rule, at) => (
                  <li key={`${at} ${rule.pattern}`} className={styles.rule}>
                    <div className={styles.what}>
                      <strong className="mono">{rule.pattern}</strong>
                      <div className={styles.chips}>
                        {!!rule.stale_days && (
                          <Badge kind="waiting">{`stale after ${counted(rule.stale_days, 'day')}`}</Badge>
                        )}
                        {rule.losers && <Badge kind="waiting">stale after a lost promotion</Badge>}
                        {!!rule.expire_days && (
                          <Badge kind="removed">{`deleted after ${counted(rule.expire_days, 'day')}`}</Badge>
                        )}
                        {!!rule.expire_days && (
                          <Badge kind="neutral">{`notice of ${counted(rule.notice_days ?? noticeDefault, 'day')}`}</Badge>
                        )}
                      </div>
                    </div>
                    <div className={styles.actions}>
                      {at > 0 && (
                        <Button
                          kind="quiet"
                          aria-label={`Move the rule of ${rule.pattern} up`}
                          refused={may.refused}
                          onPress={() => raise(at)}
                        >
                          Up
                        </Button>
                      )}
                      <Button
                        kind="quiet"
                        icon="edit"
                        aria-label={`Change the rule of ${rule.pattern}`}
                        refused={may.refused}
                        onPress={() => setEditing({ before: rule })}
                      >
                        Change…
                      </Button>
                      <Button
                        kind="quiet"
                        icon="trash"
                        aria-label={`Remove the rule of ${rule.pattern}`}
                        refused={may.refused}
                        onPress={() => setRemoving(rule.pattern)}
                      >
                        Remove…
                      </Button>
                    </div>
                  </li>
                ))}
              </ol>
              <p>
                At most {counted(most, 'deletion')} {most === 1 ? 'is' : 'are'} announced in an hour.{' '}
                <Button
                  kind="quiet"
                  icon="edit"
                  refused={may.refused}
                  aria-label="Change the deletions of an hour"
                  onPress={() => setEditing('most')}
                >
                  Change…
                </Button>
              </p>
            </>
          )
        }
      </Loaded>
      {present && editing !== null && editing !== 'most' && (
        <RuleForm
          repository={repository}
          rule={editing.before}
          taken={rules.map((rule) => rule.pattern).filter((pattern) => pattern !== editing.before?.pattern)}
          onClose={() => setEditing(null)}
          onSave={async (rule) => {
            const at = rules.findIndex((other) => other.pattern === editing.before?.pattern);
            await store(at < 0 ? [...rules, rule] : rules.with(at, rule));
            toast(`The rule of ${rule.pattern} is set`);
          }}
        />
      )}
      {editing === 'most' && (
        <MostForm present={most} onClose={() => setEditing(null)} onSave={(next) => store([...rules], next)} />
      )}
      {removing !== null && (
        <ConfirmDialog
          title={`Remove the rule of ${removing}?`}
          action="Remove rule"
          isOpen
          onClose={() => setRemoving(null)}
          onConfirm={async () => {
            await store(rules.filter((rule) => rule.pattern !== removing));
          }}
        >
          <p>
            <MatchingRefs repository={repository} pattern={removing} kind="branch" />
            Deletions that it has announced are taken back, unless another rule wants them.
          </p>
        </ConfirmDialog>
      )}
    </section>
  );
}

/** undefined = not a number of days; 0 = none was given. */
function daysOf(text: string): number | undefined {
  if (text.trim() === '') return 0;
  const value = Number(text);
  return Number.isInteger(value) && value >= 1 && value <= daysMax ? value : undefined;
}

interface RuleFormProps {
  repository: string;
  rule: CleanupRule | undefined;
  taken: readonly string[];
  onSave: (rule: CleanupRule) => Promise<void>;
  onClose: () => void;
}

function RuleForm({ repository, rule, taken, onSave, onClose }: RuleFormProps) {
  const [pattern, setPattern] = useState(rule?.pattern ?? '');
  const [stale, setStale] = useState(rule?.stale_days ? String(rule.stale_days) : '');
  const [losers, setLosers] = useState(rule?.losers === true);
  const [expire, setExpire] = useState(rule?.expire_days ? String(rule.expire_days) : '');
  const [notice, setNotice] = useState(String(rule?.notice_days ?? noticeDefault));
  const mayDelete = useMay('fs:DeleteBranch', resource.branch(repository, '*'));
  const [staleDays, expireDays, noticeDays] = [daysOf(stale), daysOf(expire), daysOf(notice)];
  const refused =
    pattern.trim() === ''
      ? 'Enter a pattern'
      : taken.includes(pattern)
        ? 'There is a rule for this pattern already'
        : staleDays === undefined || expireDays === undefined
          ? `Days are 1 to ${count(daysMax)}, or empty`
          : expireDays > 0 && !noticeDays
            ? `The notice is 1 to ${count(daysMax)} days`
            : expireDays > 0 && noticeDays! > expireDays
              ? 'The notice is longer than the days after which branches are deleted'
              : staleDays === 0 && expireDays === 0 && !losers
                ? 'Say when a branch is stale or deleted'
                : expireDays > 0
                  ? mayDelete.refused
                  : undefined;
  return (
    <FormDialog
      title={rule ? `Rule of ${rule.pattern}` : 'Stale branches'}
      action="Save"
      isOpen
      danger={expireDays !== undefined && expireDays > 0}
      onClose={onClose}
      refused={refused}
      onSubmit={() =>
        onSave({
          pattern,
          ...(staleDays ? { stale_days: staleDays } : {}),
          ...(losers ? { losers } : {}),
          ...(expireDays ? { expire_days: expireDays, notice_days: noticeDays! } : {}),
        })
      }
    >
      <TextField
        label="Branches"
        value={pattern}
        onChange={setPattern}
        mono
        autoFocus
        required
        help={
          <>
            * is any text, ? one character. <MatchingRefs repository={repository} pattern={pattern} kind="branch" />
          </>
        }
      />
      <TextField
        label="Stale after days"
        type="number"
        value={stale}
        onChange={setStale}
        placeholder="never"
        help="Without a commit. Webhooks are told; nothing is deleted."
      />
      <Checkbox checked={losers} onChange={setLosers}>
        Stale after a promotion was decided for another
      </Checkbox>
      <TextField
        label="Deleted after days"
        type="number"
        value={expire}
        onChange={setExpire}
        placeholder="never"
        help="Without a commit. A commit before then keeps the branch."
      />
      {expire.trim() !== '' && (
        <TextField
          label="Notice of days"
          type="number"
          value={notice}
          onChange={setNotice}
          required
          help="Not sooner than so many days after the notice"
        />
      )}
    </FormDialog>
  );
}

function MostForm({
  present,
  onSave,
  onClose,
}: {
  present: number;
  onSave: (most: number) => Promise<void>;
  onClose: () => void;
}) {
  const [text, setText] = useState(String(present));
  const value = Number(text);
  return (
    <FormDialog
      title="Deletions of an hour"
      action="Save"
      isOpen
      onClose={onClose}
      onSubmit={() => onSave(value)}
      refused={
        Number.isInteger(value) && value >= 1 && value <= deletionsMax ? undefined : `1 to ${count(deletionsMax)}`
      }
    >
      <TextField
        label="Deletions"
        type="number"
        value={text}
        onChange={setText}
        autoFocus
        required
        help="Announced in one hour, by all rules of the repository"
      />
    </FormDialog>
  );
}
