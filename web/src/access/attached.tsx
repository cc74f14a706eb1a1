import type { UseQueryResult } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { Button, IconButton } from '@/ui/button';
import { Select } from '@/ui/field';
import { ErrorPanel, Loaded } from '@/ui/states';
import { accessChanged } from './access_queries';
import styles from './access.module.css';

interface AttachedProps {
  title: string;
  /** Of one: "policy". */
  noun: string;
  attached: UseQueryResult<Named[]>;
  /** The names that can be added. */
  candidates: UseQueryResult<Named[]>;
  show?: (id: string) => ReactNode;
  attach: (id: string) => Promise<unknown>;
  detach: (id: string) => Promise<unknown>;
}

interface Named {
  id: string;
}

/** The members of a list that belongs to a user or a group, with a field to add and a button to remove. */
export function Attached({ title, noun, attached, candidates, show, attach, detach }: AttachedProps) {
  const [chosen, setChosen] = useState('');
  const [error, setError] = useState<unknown>(null);
  const run = async (call: () => Promise<unknown>) => {
    setError(null);
    try {
      await call();
      setChosen('');
    } catch (thrown) {
      setError(thrown);
    }
    accessChanged();
  };
  const others = (candidates.data ?? []).filter((item) => !attached.data?.some((has) => has.id === item.id));
  return (
    <section className="stack-tight" aria-label={title}>
      <h3>{title}</h3>
      <Loaded query={attached} rows={1}>
        {(items) =>
          items.length === 0 ? (
            <p className="muted">none</p>
          ) : (
            <ul className={styles.list}>
              {items.map((item) => (
                <li key={item.id}>
                  <span>{show ? show(item.id) : item.id}</span>
                  <IconButton
                    icon="close"
                    label={`Remove ${noun} ${item.id}`}
                    onPress={() => void run(() => detach(item.id))}
                  />
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {others.length > 0 && (
        <div className="toolbar">
          <Select
            label={`Add ${noun}`}
            hideLabel
            value={chosen}
            onChange={setChosen}
            options={[
              { value: '', label: `Choose a ${noun}` },
              ...others.map((item) => ({ value: item.id, label: item.id })),
            ]}
          />
          <Button
            refused={chosen === '' ? `Choose a ${noun} first` : undefined}
            onPress={() => void run(() => attach(chosen))}
          >
            Add {noun}
          </Button>
        </div>
      )}
      {error !== null && <ErrorPanel error={error} />}
    </section>
  );
}
