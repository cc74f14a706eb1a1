import { useSyncExternalStore } from 'react';

const firstWaitMs = 2000;
const longestWaitMs = 15_000;

/** Whether the server answers. After a lost request it asks /_ready until the server is back. */
class Connection {
  private up = true;
  private waitMs = firstWaitMs;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly listeners = new Set<() => void>();
  /** Called once when the server is back. */
  onReturn: () => void = () => {};

  readonly subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
  readonly isUp = () => this.up;

  lost() {
    if (!this.up) return;
    this.set(false);
    this.waitMs = firstWaitMs;
    this.schedule();
  }

  /** Asks at once. */
  retry() {
    clearTimeout(this.timer);
    void this.ask();
  }

  private set(up: boolean) {
    this.up = up;
    for (const listener of this.listeners) listener();
  }

  private schedule() {
    this.timer = setTimeout(() => void this.ask(), this.waitMs);
    this.waitMs = Math.min(this.waitMs * 1.5, longestWaitMs);
  }

  private async ask() {
    if (document.hidden) return this.schedule();
    try {
      const response = await fetch('/_ready', { cache: 'no-store' });
      if (response.ok) {
        this.set(true);
        this.onReturn();
        return;
      }
    } catch {
      // Still away.
    }
    this.schedule();
  }
}

export const connection = new Connection();

export function useIsConnected(): boolean {
  return useSyncExternalStore(connection.subscribe, connection.isUp);
}
