import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Dialog } from 'react-aria-components/Dialog';
import { DialogTrigger } from 'react-aria-components/Dialog';
import { Popover } from 'react-aria-components/Popover';
import { recent, remember } from '@/app/recent';
import { listedMax, type NamedRef, type RefKind, refsQuery } from '@/refs/ref_queries';
import { Button } from './button';
import { shortRef } from './format';
import type { IconName } from './icon';
import { type Pick, PickList } from './pick_list';
import { Name } from './text';
import { asError } from '@/api/errors';
import styles from './ref_picker.module.css';

const icons: Record<RefKind, IconName> = { branch: 'branch', tag: 'tag', alias: 'alias' };
const groups: Record<RefKind, string> = { branch: 'Branches', tag: 'Tags', alias: 'Aliases' };

interface RefPickerProps {
  repository: string;
  value: string;
  onChange: (ref: string) => void;
  /** Names the button: "Ref", "Left side". */
  label: string;
  /** Only these; all, and expressions, without it. */
  kinds?: readonly RefKind[];
}

/** Chooses a ref among thousands by a part of its name, or takes an expression such as main~3 or a commit's id. */
export function RefPicker({ repository, value, onChange, label, kinds }: RefPickerProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <DialogTrigger isOpen={isOpen} onOpenChange={setOpen}>
      <Button
        icon={value.startsWith('@') ? 'alias' : /^[0-9a-f]{64}$/.test(value) ? 'commit' : 'branch'}
        className={styles.button!}
        aria-label={`${label}: ${value}`}
      >
        <span className={styles.value}>
          <Name>{shortRef(value)}</Name>
        </span>
      </Button>
      <Popover className={styles.popover!} placement="bottom start" offset={4}>
        <Dialog aria-label={label} className={styles.dialog!}>
          <Picker
            repository={repository}
            value={value}
            label={label}
            {...(kinds ? { kinds } : {})}
            onChange={(ref) => {
              remember(`refs.${repository}`, ref);
              setOpen(false);
              onChange(ref);
            }}
          />
        </Dialog>
      </Popover>
    </DialogTrigger>
  );
}

function Picker({ repository, value, onChange, label, kinds }: RefPickerProps) {
  const [query, setQuery] = useState('');
  const typed = query.trim();
  const refs = useQuery(refsQuery(repository));
  const incomplete = (refs.data?.length ?? 0) >= listedMax;
  const found = useQuery({ ...refsQuery(repository, typed), enabled: incomplete && typed !== '' });
  return (
    <PickList
      label={label}
      placeholder={kinds ? 'Find a name' : 'Branch, tag, @alias, commit or main~3'}
      query={query}
      onQuery={setQuery}
      current={value}
      picks={picksFor(
        incomplete && typed !== '' ? (found.data ?? []) : (refs.data ?? []),
        typed,
        recent(`refs.${repository}`),
        kinds,
      )}
      onPick={(pick) => onChange(pick.id)}
      isLoading={refs.isLoading || found.isFetching}
      empty={refs.error ? asError(refs.error).message : 'No ref has this in its name.'}
    />
  );
}

/** Names that contain what was typed, those that begin with it first; then the text itself as an expression. */
export function picksFor(
  refs: readonly NamedRef[],
  typed: string,
  lately: readonly string[],
  kinds?: readonly RefKind[],
): Pick[] {
  const wanted = typed.toLowerCase();
  const matching = refs.filter((ref) => (kinds?.includes(ref.kind) ?? true) && ref.name.toLowerCase().includes(wanted));
  const picks: Pick[] = [];
  if (wanted === '') {
    const byName = new Map(matching.map((ref) => [ref.name, ref]));
    for (const name of lately) {
      const ref = byName.get(name);
      if (ref)
        picks.push({
          id: ref.name,
          label: ref.name,
          icon: icons[ref.kind],
          detail: shortRef(ref.commit),
          group: 'Recent',
        });
    }
  }
  for (const kind of ['branch', 'tag', 'alias'] as const) {
    const ofKind = matching.filter((ref) => ref.kind === kind);
    const begins = (ref: NamedRef) =>
      ref.name.toLowerCase().startsWith(wanted) || ref.name.toLowerCase().startsWith(`@${wanted}`);
    for (const ref of [...ofKind.filter(begins), ...ofKind.filter((item) => !begins(item))]) {
      picks.push({
        id: ref.name,
        label: ref.name,
        icon: icons[kind],
        detail: shortRef(ref.commit),
        group: groups[kind],
      });
    }
  }
  if (!kinds && typed !== '' && !matching.some((ref) => ref.name === typed)) {
    picks.push({ id: typed, label: typed, icon: 'commit', detail: 'commit or expression', group: 'Go to' });
  }
  return picks;
}
