import { type KeyboardEvent, type PointerEvent, useState } from 'react';
import styles from './split.module.css';

const shareMin = 20;
const shareMax = 80;
const step = 2;

/** A share in percent that leaves both sides some room. */
export function shareOf(given: number, fallback: number): number {
  return Number.isFinite(given) ? Math.min(shareMax, Math.max(shareMin, Math.round(given))) : fallback;
}

/** The share of the right one of two panes, in percent; kept in this browser under the name. */
export function useShare(name: string, fallback: number): [number, (share: number) => void] {
  const key = `tarn.share.${name}`;
  const [share, setShare] = useState(() => shareOf(Number.parseInt(localStorage.getItem(key) ?? '', 10), fallback));
  return [
    share,
    (given) => {
      const next = shareOf(given, fallback);
      setShare(next);
      localStorage.setItem(key, String(next));
    },
  ];
}

/** The line between two panes, which is dragged, or moved by arrows. Its parent is as wide as both. */
export function Splitter({
  label,
  share,
  onShare,
}: {
  label: string;
  share: number;
  onShare: (share: number) => void;
}) {
  const onKeyDown = (event: KeyboardEvent) => {
    const shares: Record<string, number> = {
      ArrowLeft: share + step,
      ArrowRight: share - step,
      Home: shareMax,
      End: shareMin,
    };
    const next = shares[event.key];
    if (next === undefined) return;
    event.preventDefault();
    onShare(next);
  };
  const onPointerMove = (event: PointerEvent<HTMLDivElement>) => {
    const place = event.currentTarget.parentElement?.getBoundingClientRect();
    if (!place || !event.currentTarget.hasPointerCapture(event.pointerId)) return;
    onShare((100 * (place.right - event.clientX)) / place.width);
  };
  return (
    <div
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={share}
      aria-valuemin={shareMin}
      aria-valuemax={shareMax}
      tabIndex={0}
      className={styles.splitter}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={onPointerMove}
    />
  );
}
