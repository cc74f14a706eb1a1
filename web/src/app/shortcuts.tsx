import { useEffect, useRef } from 'react';

const chordMs = 1200;

export interface Shortcut {
  /** "?", "/", "g d", "mod+k"; mod is Ctrl or, on a Mac, Command. */
  keys: string;
  does: string;
  run: () => void;
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.isContentEditable || target.closest('input:not([type=checkbox]), textarea, select') !== null)
  );
}

/** Keys that work anywhere on the page, except in fields and dialogs. */
export function useShortcuts(shortcuts: readonly Shortcut[]) {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  useEffect(() => {
    let pending = '';
    let timer: ReturnType<typeof setTimeout> | undefined;
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.altKey) return;
      const mod = event.ctrlKey || event.metaKey;
      if (!mod && (isTyping(event.target) || document.querySelector('[role=dialog], dialog[open]'))) return;
      const key = mod ? `mod+${event.key.toLowerCase()}` : event.key;
      const chord = pending === '' ? key : `${pending} ${key}`;
      clearTimeout(timer);
      pending = '';
      const found = latest.current.find((shortcut) => shortcut.keys === chord);
      if (found) {
        event.preventDefault();
        found.run();
      } else if (latest.current.some((shortcut) => shortcut.keys.startsWith(`${key} `))) {
        pending = key;
        timer = setTimeout(() => {
          pending = '';
        }, chordMs);
      }
    };
    document.addEventListener('keydown', onKeyDown);
    return () => {
      clearTimeout(timer);
      document.removeEventListener('keydown', onKeyDown);
    };
  }, []);
}
