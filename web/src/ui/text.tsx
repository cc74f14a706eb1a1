import { useSyncExternalStore } from 'react';
import { bytes, exactBytes, exactTime, relativeTime, visible } from './format';
import styles from './text.module.css';

const tickMs = 30_000;

// One clock for all times of the page: a table has thousands that come and go.
let ticks = 0;
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function subscribe(listener: () => void) {
  listeners.add(listener);
  timer ??= setInterval(() => {
    ++ticks;
    for (const each of listeners) each();
  }, tickMs);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}

/** The present time; the component is drawn again every half minute. It is never before a moment that an answer tells. */
export function useNow(): Date {
  useSyncExternalStore(subscribe, () => ticks);
  return new Date();
}

/** A point in time: relative, and exact with its zone on hover. Seconds since 1970, or RFC 3339. */
export function Time({ at }: { at: number | string }) {
  const then = new Date(typeof at === 'number' ? at * 1000 : at);
  const present = useNow();
  if (Number.isNaN(then.getTime())) return <span className="muted">unknown</span>;
  return (
    <time dateTime={then.toISOString()} title={exactTime(then)} className={styles.nowrap}>
      {relativeTime(then, present)}
    </time>
  );
}

/** A size: rounded, and exact on hover. */
export function Bytes({ of }: { of: number | undefined }) {
  if (of === undefined) return null;
  return (
    <span className={styles.nowrap} title={exactBytes(of)}>
      {bytes(of)}
    </span>
  );
}

const tailLength = 12;

/** A name that is cut in the middle where it does not fit. The full name is read aloud and shown on hover. */
export function Name({ children: given, mono }: { children: string; mono?: boolean }) {
  const children = visible(given);
  const at = Math.max(0, children.length - tailLength);
  const short = children.length <= 2 * tailLength;
  return (
    <span className={`${styles.name} ${mono ? 'mono' : ''}`} title={children}>
      {short ? (
        <span className={styles.head}>{children}</span>
      ) : (
        <>
          <span className="visually-hidden">{children}</span>
          <span aria-hidden="true" className={styles.head}>
            {children.slice(0, at)}
          </span>
          <span aria-hidden="true" className={styles.tail}>
            {children.slice(at)}
          </span>
        </>
      )}
    </span>
  );
}

/** A state in words with its colour. */
export function Badge({
  kind,
  children,
}: {
  kind: 'neutral' | 'added' | 'removed' | 'changed' | 'waiting' | 'accent';
  children: React.ReactNode;
}) {
  return <span className={`${styles.badge} ${styles[kind]}`}>{children}</span>;
}
