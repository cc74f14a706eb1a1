import { useState } from 'react';
import { Button, IconButton } from '@/ui/button';
import { Dialog, DialogActions } from '@/ui/dialog';
import { TextField } from '@/ui/field';
import { Name } from '@/ui/text';
import { isMetric, isParam } from './run_values';
import styles from './experiments.module.css';

interface ColumnsDialogProps {
  known: readonly string[];
  columns: readonly string[];
  pinned: readonly string[];
  onChange: (columns: string[], pinned: string[]) => void;
  onClose: () => void;
}

const shownMax = 300;

/** Chooses, orders and pins columns. A name that the list lacks can be typed. */
export function ColumnsDialog({ known, columns, pinned, onChange, onClose }: ColumnsDialogProps) {
  const [query, setQuery] = useState('');
  const wanted = query.trim().toLowerCase();
  const others = known.filter((column) => !columns.includes(column) && column.toLowerCase().includes(wanted));
  const typed = query.trim();
  const isNew =
    (isMetric(typed) || isParam(typed)) && typed.length > 8 && !known.includes(typed) && !columns.includes(typed);
  const move = (column: string, by: number) => {
    const next = columns.filter((item) => item !== column);
    next.splice(Math.max(0, columns.indexOf(column) + by), 0, column);
    onChange(next, [...pinned]);
  };
  const toggle = (column: string) => {
    if (columns.includes(column))
      onChange(
        columns.filter((item) => item !== column),
        pinned.filter((item) => item !== column),
      );
    else onChange([...columns, column], [...pinned]);
  };
  const pin = (column: string) =>
    onChange([...columns], pinned.includes(column) ? pinned.filter((item) => item !== column) : [...pinned, column]);
  return (
    <Dialog title="Columns" isOpen onClose={onClose} side>
      <div className="stack-tight">
        <TextField
          label="Find a metric or parameter"
          type="search"
          value={query}
          onChange={setQuery}
          autoFocus
          help="Names of the newest 10,000 runs. Others can be typed in full: metrics.NAME, params.NAME."
        />
        {isNew && (
          <Button
            icon="plus"
            onPress={() => {
              toggle(typed);
              setQuery('');
            }}
          >{`Add ${typed}`}</Button>
        )}
        <h3>Shown</h3>
        <ul className={styles.columnList}>
          {columns.map((column, index) => (
            <li key={column}>
              <label>
                <input type="checkbox" checked onChange={() => toggle(column)} />
                <Name mono>{column}</Name>
              </label>
              <IconButton
                icon="arrowLeft"
                label={`Move ${column} left`}
                isDisabled={index === 0}
                onPress={() => move(column, -1)}
              />
              <IconButton
                icon="arrowRight"
                label={`Move ${column} right`}
                isDisabled={index === columns.length - 1}
                onPress={() => move(column, 1)}
              />
              <label className={styles.pin}>
                <input type="checkbox" checked={pinned.includes(column)} onChange={() => pin(column)} />
                pinned<span className="visually-hidden"> {column}</span>
              </label>
            </li>
          ))}
          {columns.length === 0 && <li className="muted">None</li>}
        </ul>
        <h3>Not shown</h3>
        <ul className={styles.columnList}>
          {others.slice(0, shownMax).map((column) => (
            <li key={column}>
              <label>
                <input type="checkbox" checked={false} onChange={() => toggle(column)} />
                <Name mono>{column}</Name>
              </label>
            </li>
          ))}
          {others.length === 0 && <li className="muted">None</li>}
          {others.length > shownMax && (
            <li className="muted">{others.length - shownMax} more; type a part of the name.</li>
          )}
        </ul>
        <DialogActions>
          <Button kind="primary" onPress={onClose}>
            Done
          </Button>
        </DialogActions>
      </div>
    </Dialog>
  );
}
