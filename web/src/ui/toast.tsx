import { useSyncExternalStore } from 'react';
import { IconButton } from './button';
import styles from './toast.module.css';

const shownMs = 6000;
const shownMax = 4;

interface Message {
  id: number;
  text: string;
}

let messages: readonly Message[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

function set(next: readonly Message[]) {
  messages = next;
  for (const listener of listeners) listener();
}

function dismiss(id: number) {
  set(messages.filter((message) => message.id !== id));
}

/** Says what happened, for six seconds. Failures belong next to what failed instead. */
export function toast(text: string) {
  const id = nextId++;
  set([...messages, { id, text }].slice(-shownMax));
  setTimeout(() => dismiss(id), shownMs);
}

function subscribe(listener: () => void) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => messages);
  return (
    <div className={styles.toasts} role="status" aria-live="polite">
      {shown.map((message) => (
        <div key={message.id} className={styles.toast}>
          <span>{message.text}</span>
          <IconButton icon="close" label="Dismiss" onPress={() => dismiss(message.id)} />
        </div>
      ))}
    </div>
  );
}
