import { type ReactNode, type Ref, useId } from 'react';
import styles from './field.module.css';

interface TextFieldProps {
  label: ReactNode;
  value: string;
  onChange: (value: string) => void;
  /** Below the field: what is allowed, an example. */
  help?: ReactNode;
  /** Why the value is refused; shown instead of the help. */
  error?: string | undefined;
  type?: 'text' | 'password' | 'search' | 'datetime-local' | 'number';
  placeholder?: string;
  autoFocus?: boolean;
  autoComplete?: string;
  required?: boolean;
  mono?: boolean;
  /** Lines of a text area; 1 = one line. */
  rows?: number;
  hideLabel?: boolean;
  ref?: Ref<HTMLInputElement>;
  onKeyDown?: React.KeyboardEventHandler;
}

export function TextField({
  label,
  value,
  onChange,
  help,
  error,
  rows = 1,
  mono,
  hideLabel,
  type = 'text',
  ref,
  ...rest
}: TextFieldProps) {
  const id = useId();
  const shared = {
    ...rest,
    id,
    value,
    spellCheck: false,
    className: `${styles.input} ${mono ? 'mono' : ''}`,
    'aria-invalid': error ? true : undefined,
    'aria-describedby': error || help ? `${id}-help` : undefined,
    onChange: (event: React.ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => onChange(event.target.value),
  };
  return (
    <div className={styles.field}>
      <label htmlFor={id} className={hideLabel ? 'visually-hidden' : styles.label}>
        {label}
      </label>
      {rows > 1 ? <textarea {...shared} rows={rows} /> : <input {...shared} ref={ref} type={type} />}
      {(error || help) && (
        <div id={`${id}-help`} className={error ? styles.error : styles.help}>
          {error ?? help}
        </div>
      )}
    </div>
  );
}

interface SelectProps<T extends string> {
  label: ReactNode;
  value: T;
  onChange: (value: T) => void;
  options: readonly { value: T; label: string }[];
  help?: ReactNode;
  hideLabel?: boolean;
}

export function Select<T extends string>({ label, value, onChange, options, help, hideLabel }: SelectProps<T>) {
  const id = useId();
  return (
    <div className={styles.field}>
      <label htmlFor={id} className={hideLabel ? 'visually-hidden' : styles.label}>
        {label}
      </label>
      <select
        id={id}
        className={styles.input}
        value={value}
        onChange={(event) => onChange(event.target.value as T)}
        aria-describedby={help ? `${id}-help` : undefined}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
      {help && (
        <div id={`${id}-help`} className={styles.help}>
          {help}
        </div>
      )}
    </div>
  );
}

export function Checkbox({
  children,
  checked,
  onChange,
  help,
}: {
  children: ReactNode;
  checked: boolean;
  onChange: (checked: boolean) => void;
  help?: ReactNode;
}) {
  const id = useId();
  return (
    <div className={styles.check}>
      <input
        id={id}
        type="checkbox"
        checked={checked}
        onChange={(event) => onChange(event.target.checked)}
        aria-describedby={help ? `${id}-help` : undefined}
      />
      <div>
        <label htmlFor={id}>{children}</label>
        {help && (
          <div id={`${id}-help`} className={styles.help}>
            {help}
          </div>
        )}
      </div>
    </div>
  );
}

/** Rows of a key and a value, as of metadata. */
export function PairsField({
  label,
  pairs,
  onChange,
}: {
  label: string;
  pairs: [string, string][];
  onChange: (pairs: [string, string][]) => void;
}) {
  const rows: [string, string][] =
    pairs.length === 0 || pairs[pairs.length - 1]?.join('') !== '' ? [...pairs, ['', '']] : pairs;
  const change = (index: number, side: 0 | 1, value: string) => {
    const next = rows.map((row) => [...row] as [string, string]);
    next[index]![side] = value;
    onChange(next.filter((row) => row.join('') !== ''));
  };
  return (
    <fieldset className={styles.pairs}>
      <legend className={styles.label}>{label}</legend>
      {rows.map(([key, value], index) => (
        <div key={index} className={styles.pair}>
          <input
            className={`${styles.input} mono`}
            aria-label={`Key ${index + 1}`}
            placeholder="key"
            value={key}
            onChange={(event) => change(index, 0, event.target.value)}
          />
          <input
            className={`${styles.input} mono`}
            aria-label={`Value ${index + 1}`}
            placeholder="value"
            value={value}
            onChange={(event) => change(index, 1, event.target.value)}
          />
        </div>
      ))}
    </fieldset>
  );
}
