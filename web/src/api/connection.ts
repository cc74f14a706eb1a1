import { useSyncExternalStore } from 'react';

const firstWaitMs = 2000;
const longestWaitMs = 15_000;
/** Longest wait for an answer of /_ready. */
const probeMs = 5000;

/** Longest part of the answer of /_ready that is shown. */
const reasonCharsMax = 600;

/** "unready": the server answers, without its database or store. */
type State = 'up' | 'lost' | 'unready';

/** Whether the server answers. After a lost request it asks /_ready until the server is back. */
class Connection {
  private state: State = 'up';
  private why = '';
  private asking = false;
  private waitMs = firstWaitMs;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly listeners = new Set<() => void>();
  /** Called once when the server is back. */
  onReturn: () => void = () => {};

  readonly subscribe = (listener: () => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };
  readonly isUp = () => this.state === 'up';
  readonly now = () => this.state;
  /** What an unready server says is missing. */
  readonly reason = () => this.why;

  /** A request got no answer. */
  lost() {
    if (this.state !== 'up') return;
    this.set('lost', '');
    this.waitMs = firstWaitMs;
    this.schedule();
  }

  /** A request waits for long, or the server refused it for now: asks whether it is there, once at a time. */
  suspect() {
    if (this.state !== 'up' || this.asking) return;
    this.waitMs = firstWaitMs;
    void this.ask();
  }

  /** Asks at once. */
  retry() {
    clearTimeout(this.timer);
    void this.ask();
  }

  private set(state: State, why: string) {
    if (state === this.state && why === this.why) return;
    this.state = state;
    this.why = why;
    for (const listener of this.listeners) listener();
  }

  private schedule() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.ask(), this.waitMs);
    this.waitMs = Math.min(this.waitMs * 1.5, longestWaitMs);
  }

  private async ask() {
    if (this.asking) return;
    if (document.hidden && this.state !== 'up') return this.schedule();
    this.asking = true;
    let answered: State = 'lost';
    let why = '';
    const limit = new AbortController();
    const late = setTimeout(() => limit.abort(), probeMs);
    try {
      const response = await fetch('/_ready', { cache: 'no-store', signal: limit.signal });
      answered = response.ok ? 'up' : response.status === 503 ? 'unready' : 'lost';
      if (answered === 'unready')
        why = (await response.text()).split('\n').slice(1).filter(Boolean).join('; ').slice(0, reasonCharsMax);
    } catch {
      // No answer, or none in time.
    }
    clearTimeout(late);
    this.asking = false;
    const was = this.state;
    this.set(answered, why);
    if (answered !== 'up') this.schedule();
    else if (was !== 'up') this.onReturn();
  }
}

export const connection = new Connection();

export function useUnreadyReason(): string {
  return useSyncExternalStore(connection.subscribe, connection.reason);
}

export function useConnection(): State {
  return useSyncExternalStore(connection.subscribe, connection.now);
}
