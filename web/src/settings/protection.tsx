import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { answer, api } from '@/api/client';
import { resource, useMay } from '@/api/permissions';
import { blockable, blockedByDefault, type BranchAction } from '@/refs/protection';
import { Button } from '@/ui/button';
import { ConfirmDialog, FormDialog } from '@/ui/dialog';
import { Checkbox, TextField } from '@/ui/field';
import { counted } from '@/ui/format';
import { Loaded } from '@/ui/states';
import { Badge } from '@/ui/text';
import { toast } from '@/ui/toast';
import { MatchingRefs } from './matching_refs';
import {
  type BranchRule,
  branchRulesQuery,
  type Rules,
  settingsChanged,
  type TagRule,
  tagRulesQuery,
} from './settings_queries';
import styles from './settings.module.css';

const mergeMethods = ['merge', 'squash'] as const;
type MergeMethod = (typeof mergeMethods)[number];
const approvalsMax = 100;

export function Protection({ repository }: { repository: string }) {
  return (
    <>
      <BranchRules repository={repository} />
      <TagRules repository={repository} />
    </>
  );
}

interface ListProps<R> {
  title: string;
  about: string;
  repository: string;
  query: Parameters<typeof Loaded<Rules<R>>>[0]['query'];
  describe: (rule: R) => ReactNode;
  form: (
    rule: R | undefined,
    taken: readonly string[],
    save: (rule: R) => Promise<void>,
    onClose: () => void,
  ) => ReactNode;
  store: (rules: R[], etag: string) => Promise<unknown>;
}

/** Rules by pattern, with buttons that add, change and remove one. */
function RuleList<R extends { pattern: string }>({
  title,
  about,
  repository,
  query,
  describe,
  form,
  store,
}: ListProps<R>) {
  const may = useMay('branches:SetBranchProtectionRules', resource.repository(repository));
  const [editing, setEditing] = useState<{ rule?: R } | null>(null);
  const [removing, setRemoving] = useState<R | null>(null);
  const present = query.data;
  const save = async (before: string | undefined, rule: R | null) => {
    const rules = present!.rules.filter((item) => item.pattern !== before);
    await store(rule ? [...rules, rule] : rules, present!.etag).finally(() => settingsChanged(repository));
    toast(rule ? `${rule.pattern} is protected` : `${before} has no rule any more`);
  };
  return (
    <section className="stack-tight" aria-label={title}>
      <div className="page-head">
        <h2 className="grow">{title}</h2>
        <Button icon="plus" refused={may.refused} onPress={() => setEditing({})}>
          Add rule…
        </Button>
      </div>
      <p className="muted">{about}</p>
      <Loaded query={query} rows={2}>
        {({ rules }) =>
          rules.length === 0 ? (
            <p>None.</p>
          ) : (
            <ul className={styles.rules}>
              {rules.map((rule) => (
                <li key={rule.pattern} className={styles.rule}>
                  <div className={styles.what}>
                    <strong className="mono">{rule.pattern}</strong>
                    <div className={styles.chips}>{describe(rule)}</div>
                  </div>
                  <div className={styles.actions}>
                    <Button
                      kind="quiet"
                      icon="edit"
                      aria-label={`Change the rule of ${rule.pattern}`}
                      refused={may.refused}
                      onPress={() => setEditing({ rule })}
                    >
                      Change…
                    </Button>
                    <Button
                      kind="quiet"
                      icon="trash"
                      aria-label={`Remove the rule of ${rule.pattern}`}
                      refused={may.refused}
                      onPress={() => setRemoving(rule)}
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
      {editing &&
        present &&
        form(
          editing.rule,
          present.rules.map((rule) => rule.pattern).filter((pattern) => pattern !== editing.rule?.pattern),
          (rule) => save(editing.rule?.pattern, rule),
          () => setEditing(null),
        )}
      {removing && (
        <ConfirmDialog
          title={`Remove the rule of ${removing.pattern}?`}
          action="Remove rule"
          isOpen
          onClose={() => setRemoving(null)}
          onConfirm={() => save(removing.pattern, null)}
        >
          <p>
            <MatchingRefs
              repository={repository}
              pattern={removing.pattern}
              kind={title.startsWith('Tag') ? 'tag' : 'branch'}
            />{' '}
            What it blocked is then permitted to all who have the rights.
          </p>
        </ConfirmDialog>
      )}
    </section>
  );
}

function BranchRules({ repository }: { repository: string }) {
  const query = useQuery(branchRulesQuery(repository));
  return (
    <RuleList<BranchRule>
      title="Branch protection"
      repository={repository}
      query={query}
      about="What nobody may do directly on branches whose names match. Gates and requests still work unless merging is blocked too."
      describe={(rule) => {
        const blocked = rule.blocked_actions ?? blockedByDefault;
        return (
          <>
            {blocked.length === 0 ? (
              <Badge kind="neutral">nothing blocked</Badge>
            ) : (
              blocked.map((action) => (
                <Badge key={action} kind="removed">{`no ${blockable[action].toLowerCase()}`}</Badge>
              ))
            )}
            {(rule.merge_methods?.length ?? 0) > 0 && (
              <Badge kind="changed">{`only ${rule.merge_methods!.join(' or ')}`}</Badge>
            )}
            {!!rule.approvals && <Badge kind="waiting">{counted(rule.approvals, 'approval')}</Badge>}
          </>
        );
      }}
      store={(rules, etag) =>
        answer(
          api.PUT('/repositories/{repository}/settings/branch_protection', {
            params: { path: { repository }, header: { 'If-Match': etag } },
            body: rules,
          }),
        )
      }
      form={(rule, taken, save, onClose) => (
        <BranchRuleForm repository={repository} rule={rule} taken={taken} onSave={save} onClose={onClose} />
      )}
    />
  );
}

interface FormProps<R> {
  repository: string;
  rule: R | undefined;
  taken: readonly string[];
  onSave: (rule: R) => Promise<void>;
  onClose: () => void;
}

const patternProblem = (pattern: string, taken: readonly string[]) =>
  pattern === '' ? 'Enter a pattern' : taken.includes(pattern) ? 'There is a rule for this pattern already' : undefined;

function BranchRuleForm({ repository, rule, taken, onSave, onClose }: FormProps<BranchRule>) {
  const [pattern, setPattern] = useState(rule?.pattern ?? '');
  const [blocked, setBlocked] = useState<readonly BranchAction[]>(
    rule ? (rule.blocked_actions ?? blockedByDefault) : blockedByDefault,
  );
  const [methods, setMethods] = useState<readonly MergeMethod[]>(rule?.merge_methods ?? []);
  const [approvals, setApprovals] = useState(String(rule?.approvals ?? 0));
  const needed = Number(approvals);
  const toggled = <T,>(list: readonly T[], item: T, on: boolean) =>
    on ? [...list, item] : list.filter((other) => other !== item);
  return (
    <FormDialog
      title={rule ? `Rule of ${rule.pattern}` : 'Protect branches'}
      action="Save"
      isOpen
      wide
      onClose={onClose}
      refused={
        patternProblem(pattern, taken) ??
        (!Number.isInteger(needed) || needed < 0 || needed > approvalsMax
          ? `Approvals: 0 to ${approvalsMax}`
          : undefined)
      }
      onSubmit={() =>
        onSave({ pattern, blocked_actions: [...blocked], merge_methods: [...methods], approvals: needed })
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
      <fieldset className={styles.checks}>
        <legend>Blocked</legend>
        {(Object.keys(blockable) as BranchAction[]).map((action) => (
          <Checkbox
            key={action}
            checked={blocked.includes(action)}
            onChange={(on) => setBlocked(toggled(blocked, action, on))}
          >
            {blockable[action]}
          </Checkbox>
        ))}
      </fieldset>
      <fieldset className={styles.checks}>
        <legend>Merged by these methods only; any if none is chosen</legend>
        {mergeMethods.map((method) => (
          <Checkbox
            key={method}
            checked={methods.includes(method)}
            onChange={(on) => setMethods(toggled(methods, method, on))}
          >
            {method === 'merge' ? 'Merge commit' : 'Squash'}
          </Checkbox>
        ))}
      </fieldset>
      <TextField
        label="Approvals"
        type="number"
        value={approvals}
        onChange={setApprovals}
        help="So many users, not the author, approve a request before it is merged."
      />
    </FormDialog>
  );
}

function TagRules({ repository }: { repository: string }) {
  const query = useQuery(tagRulesQuery(repository));
  return (
    <RuleList<TagRule>
      title="Tag protection"
      repository={repository}
      query={query}
      about="Whether tags whose names match may be created and deleted."
      describe={(rule) => (
        <>
          {rule.create === false && <Badge kind="removed">no creating</Badge>}
          {rule.delete === false && <Badge kind="removed">no deleting</Badge>}
          {rule.create !== false && rule.delete !== false && <Badge kind="neutral">nothing blocked</Badge>}
        </>
      )}
      store={(rules, etag) =>
        answer(
          api.PUT('/repositories/{repository}/settings/tag_protection', {
            params: { path: { repository }, header: { 'If-Match': etag } },
            body: rules,
          }),
        )
      }
      form={(rule, taken, save, onClose) => (
        <TagRuleForm repository={repository} rule={rule} taken={taken} onSave={save} onClose={onClose} />
      )}
    />
  );
}

function TagRuleForm({ repository, rule, taken, onSave, onClose }: FormProps<TagRule>) {
  const [pattern, setPattern] = useState(rule?.pattern ?? '');
  const [create, setCreate] = useState(rule?.create === false);
  const [remove, setRemove] = useState(rule ? rule.delete === false : true);
  return (
    <FormDialog
      title={rule ? `Rule of ${rule.pattern}` : 'Protect tags'}
      action="Save"
      isOpen
      onClose={onClose}
      refused={patternProblem(pattern, taken)}
      onSubmit={() => onSave({ pattern, create: !create, delete: !remove })}
    >
      <TextField
        label="Tags"
        value={pattern}
        onChange={setPattern}
        mono
        autoFocus
        required
        help={
          <>
            * is any text, ? one character. <MatchingRefs repository={repository} pattern={pattern} kind="tag" />
          </>
        }
      />
      <fieldset className={styles.checks}>
        <legend>Blocked</legend>
        <Checkbox checked={create} onChange={setCreate}>
          Creating
        </Checkbox>
        <Checkbox checked={remove} onChange={setRemove}>
          Deleting
        </Checkbox>
      </fieldset>
    </FormDialog>
  );
}
