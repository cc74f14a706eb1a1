import { type ReactNode, useEffect, useState } from 'react';
import { ApiError, advice, asError } from '@/api/errors';
import { Button } from './button';
import { CopyButton } from './copy_as';
import { Icon, type IconName } from './icon';
import styles from './states.module.css';

/** A failure: the message, what to do, the request id, and a button to try again. */
export function ErrorPanel({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const shown = asError(error);
  const requestId = shown instanceof ApiError ? shown.requestId : '';
  const reason = shown instanceof ApiError ? shown.reason : '';
  const hint = advice(error);
  return (
    <div role="alert" className={styles.error}>
      <Icon name="error" />
      <div className={styles.errorText}>
        <p className={styles.message}>{shown.message}</p>
        {hint && <p>{hint}</p>}
        {(requestId || reason) && (
          <p className={styles.ids}>
            {reason && <code>{reason}</code>}{' '}
            {requestId && (
              <>
                request <code>{requestId}</code> <CopyButton text={requestId} label="Copy request id" />
              </>
            )}
          </p>
        )}
        {onRetry && <Button onPress={onRetry}>Try again</Button>}
      </div>
    </div>
  );
}

interface EmptyStateProps {
  icon: IconName;
  /** One sentence. */
  children: ReactNode;
  /** The command that does the next step. */
  command?: string;
  /** The button that does it. */
  action?: ReactNode;
}

/** Nothing here: one sentence, one command, one button. */
export function EmptyState({ icon, children, command, action }: EmptyStateProps) {
  return (
    <div className={styles.empty}>
      <Icon name={icon} size={32} />
      <p>{children}</p>
      {command && (
        <p className={styles.command}>
          <code>{command}</code>
          <CopyButton text={command} label="Copy command" />
        </p>
      )}
      {action}
    </div>
  );
}

const spinnerDelayMs = 300;
/** After which a placeholder says that it takes long. */
const longMs = 8000;

/** True once `waiting` has lasted; without `afterMs` 300 ms: quick answers show no placeholder. */
export function useSlow(waiting: boolean, afterMs = spinnerDelayMs): boolean {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    if (!waiting) return setSlow(false);
    const timer = setTimeout(() => setSlow(true), afterMs);
    return () => clearTimeout(timer);
  }, [waiting, afterMs]);
  return slow && waiting;
}

/** Says so when what runs takes long. */
export function StillWaiting({ waiting, children }: { waiting: boolean; children: ReactNode }) {
  return useSlow(waiting, longMs) ? (
    <p role="status" className={styles.waiting}>
      {children}
    </p>
  ) : null;
}

/** Placeholder with the height of what will come. */
export function Skeleton({ rows = 3 }: { rows?: number }) {
  const slow = useSlow(true);
  const long = useSlow(true, longMs);
  return (
    <div className={styles.skeleton} role="status" aria-label="Loading">
      {long && <p className={styles.waiting}>The server takes long to answer. The page goes on waiting.</p>}
      {Array.from({ length: rows }, (_, row) => (
        <span key={row} className={slow ? styles.bar : styles.blank} style={{ width: `${90 - ((row * 17) % 40)}%` }} />
      ))}
    </div>
  );
}

interface QueryLike<T> {
  data: T | undefined;
  error: unknown;
  refetch: () => unknown;
}

interface LoadedProps<T> {
  query: QueryLike<T>;
  rows?: number;
  /** Of a page whose heading is part of its content: that of the failure. */
  heading?: ReactNode;
  children: (data: T) => ReactNode;
}

/** The three states of a query: placeholder, failure, content. Content stays while a later attempt fails. */
export function Loaded<T>({ query, rows, heading, children }: LoadedProps<T>) {
  if (query.data !== undefined) return <>{children(query.data)}</>;
  if (query.error)
    return (
      <>
        {heading && <h1>{heading}</h1>}
        <ErrorPanel error={query.error} onRetry={() => void query.refetch()} />
      </>
    );
  return <Skeleton rows={rows ?? 3} />;
}

/** Progress of long work; without `value` (0 to 1) it is unknown how much is left. */
export function Progress({
  value,
  label,
  children,
}: {
  value?: number | undefined;
  label: string;
  children?: ReactNode;
}) {
  return (
    <div className={styles.progress}>
      <progress
        aria-label={label}
        max={1}
        {...(value === undefined ? {} : { value: Math.min(1, Math.max(0, value)) })}
      />
      {children && <span className={styles.progressText}>{children}</span>}
    </div>
  );
}
