import { useSyncExternalStore } from 'react';

/** Whether the session of this page has ended on the server. Pages stay as they are until somebody signs in again, so nothing typed is lost. */
class SessionEnd {
  private ended = false;
  private readonly listeners = new Set<() => void>();

  readonly subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
  readonly hasEnded = () => this.ended;

  set(ended: boolean) {
    if (ended === this.ended) return;
    this.ended = ended;
    for (const listener of this.listeners) listener();
  }
}

export const sessionEnd = new SessionEnd();

export function useSessionEnded(): boolean {
  return useSyncExternalStore(sessionEnd.subscribe, sessionEnd.hasEnded);
}

interface Condition {
  subscribe: (listener: () => void) => () => void;
}

/** Resolves when `holds` does, which a change of `source` may bring; rejects when the signal is aborted. */
export function until(source: Condition, holds: () => boolean, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const look = () => {
      if (signal.aborted) reject(new DOMException('cancelled', 'AbortError'));
      else if (holds()) resolve();
      else return;
      unsubscribe();
      signal.removeEventListener('abort', look);
    };
    const unsubscribe = source.subscribe(look);
    signal.addEventListener('abort', look);
    look();
  });
}
