import { type KeyboardEvent, useId, useState } from 'react';
import { Icon } from '@/ui/icon';
import { complete, parseConditions } from './conditions';
import styles from './experiments.module.css';

interface FilterFieldProps {
  columns: readonly string[];
  values: (column: string) => readonly string[];
  /** Complete conditions, joined by "and"; returns why it is refused. */
  onAdd: (text: string) => string | undefined;
}

/** A field for conditions of the filter language; a list completes names, operators and values. */
export function FilterField({ columns, values, onAdd }: FilterFieldProps) {
  const id = useId();
  const [text, setText] = useState('');
  const [isOpen, setOpen] = useState(false);
  const [at, setAt] = useState(-1);
  const [why, setWhy] = useState<string>();
  const completions = isOpen ? complete(text, columns, values) : [];

  const change = (next: string) => {
    setText(next);
    setAt(-1);
    setWhy(undefined);
    setOpen(true);
  };
  const add = (condition: string) => {
    const refused = onAdd(condition);
    setWhy(refused);
    if (refused) return;
    setText('');
    setOpen(false);
    setAt(-1);
  };
  const take = (index: number) => {
    const item = completions[index]!;
    if (item.done) add(item.text);
    else change(item.text);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' && !isOpen) setOpen(true);
    else if (event.key === 'ArrowDown') setAt(Math.min(completions.length - 1, at + 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(-1, at - 1));
    else if (event.key === 'Escape' && isOpen) setOpen(false);
    else if (event.key === 'Tab' && isOpen && at >= 0) take(at);
    else if (event.key === 'Enter') {
      const parsed = parseConditions(text);
      if (at >= 0) take(at);
      else if (text.trim() === '') return;
      else if ('why' in parsed) setWhy(parsed.why);
      else add(text);
    } else return;
    event.preventDefault();
  };
  return (
    <div
      className={styles.filter}
      onBlur={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget)) setOpen(false);
      }}
    >
      <Icon name="filter" />
      <input
        type="search"
        role="combobox"
        aria-label="Filter runs"
        aria-expanded={completions.length > 0}
        aria-controls={`${id}-list`}
        aria-autocomplete="list"
        aria-activedescendant={at >= 0 ? `${id}-${at}` : undefined}
        aria-invalid={why ? true : undefined}
        aria-describedby={why ? `${id}-why` : undefined}
        placeholder="Filter: metrics.accuracy > 0.9"
        value={text}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => change(event.target.value)}
        onFocus={() => setOpen(true)}
        onKeyDown={onKeyDown}
      />
      {completions.length > 0 && (
        <ul id={`${id}-list`} role="listbox" aria-label="Completions" tabIndex={-1} className={styles.completions}>
          {completions.map((item, index) => (
            <li
              key={item.text}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === at}
              className={index === at ? styles.at : undefined}
              onMouseDown={(event) => {
                event.preventDefault();
                take(index);
              }}
            >
              {item.label}
            </li>
          ))}
        </ul>
      )}
      {why && (
        <div id={`${id}-why`} role="status" className={styles.why}>
          {why}
        </div>
      )}
    </div>
  );
}
