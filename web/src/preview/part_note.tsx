import type { ReactNode } from 'react';
import { Button } from '@/ui/button';
import { bytes } from '@/ui/format';
import styles from './preview.module.css';

/** Says that only the beginning is shown, and offers more. */
export function PartNote({ shown, size, onMore }: { shown: number; size: number; onMore?: (() => void) | undefined }) {
  if (shown >= size) return null;
  return (
    <p className={styles.note} role="note">
      <span>
        The first {bytes(shown)} of {bytes(size)} are shown.
      </span>
      {onMore && <Button onPress={onMore}>Show more</Button>}
    </p>
  );
}

export function Note({ children }: { children: ReactNode }) {
  return (
    <p className={styles.note} role="note">
      {children}
    </p>
  );
}
