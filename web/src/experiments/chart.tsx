// Parts of charts: a canvas for marks with text of the page around it.
import { type RefObject, useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from 'react';
import { useTheme } from '@/app/theme';
import styles from './experiments.module.css';

export interface Size {
  width: number;
  height: number;
}

/** Of an element, as it changes. */
export function useSize(element: RefObject<HTMLElement | null>, height: number): Size {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const of = element.current;
    if (!of) return;
    const read = () => setWidth(Math.floor(of.clientWidth));
    read();
    const observer = new ResizeObserver(read);
    observer.observe(of);
    return () => observer.disconnect();
  }, [element]);
  return { width, height };
}

const dark = () => window.matchMedia('(prefers-color-scheme: dark)');

/** Charts are drawn again when it changes. */
export function useIsDark(): boolean {
  const theme = useTheme();
  const system = useSyncExternalStore(
    (listener) => {
      const query = dark();
      query.addEventListener('change', listener);
      return () => query.removeEventListener('change', listener);
    },
    () => dark().matches,
  );
  return theme === 'dark' || (theme === 'system' && system);
}

/** Of the n-th run or group: neighbours differ in hue, and lines in their dashes too. */
export function colourOf(index: number, isDark: boolean, alpha = 1): string {
  return `hsl(${(170 + index * 137.5) % 360} ${isDark ? '65% 65%' : '70% 34%'} / ${alpha})`;
}

const dashes = [[], [6, 3], [2, 2], [8, 3, 2, 3]];
export function dashOf(index: number): number[] {
  return dashes[index % dashes.length]!;
}

/** As CSS has the dashes, for a legend. */
export function lineStyleOf(index: number): string {
  return ['solid', 'dashed', 'dotted', 'double'][index % dashes.length]!;
}

/** A colour of ui/base.css as the canvas takes it. */
export function themeColour(name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

interface CanvasProps extends Size {
  draw: (context: CanvasRenderingContext2D, size: Size) => void;
  /** Says what the picture shows, with its figures. */
  label: string;
  onMove?: (x: number, y: number) => void;
  onLeave?: () => void;
  onPress?: (x: number, y: number) => void;
}

/** Draws in pixels of the page; sharp on dense screens. */
export function Canvas({ width, height, draw, label, onMove, onLeave, onPress }: CanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext('2d');
    if (!element || !context || width === 0) return;
    const scale = window.devicePixelRatio || 1;
    element.width = width * scale;
    element.height = height * scale;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(context, { width, height });
  }, [width, height, draw]);
  const at = (event: React.MouseEvent, tell?: (x: number, y: number) => void) => {
    const box = event.currentTarget.getBoundingClientRect();
    tell?.(event.clientX - box.left, event.clientY - box.top);
  };
  return (
    <canvas
      ref={canvas}
      role="img"
      aria-label={label}
      className={styles.canvas}
      style={{ width, height }}
      onMouseMove={(event) => at(event, onMove)}
      onMouseLeave={onLeave}
      onClick={(event) => at(event, onPress)}
    />
  );
}
