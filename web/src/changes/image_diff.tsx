import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { imageTypeOf } from '@/preview/kinds';
import { readBytes, type Shown } from '@/preview/object_bytes';
import { Select } from '@/ui/field';
import { bytes } from '@/ui/format';
import { ErrorPanel, Skeleton } from '@/ui/states';
import type { ContentProps } from './compared_object';
import styles from './changes.module.css';

const imageMax = 20 << 20;
const blinkMs = 700;
type Mode = 'side' | 'swipe' | 'blink';

/** Images side by side, one over the other with a divider that moves, or in turns. */
export function ImageDiff({ before, after }: ContentProps) {
  const [mode, setMode] = useState<Mode>('side');
  if (before && before.size > imageMax) return <TooLarge />;
  if (after && after.size > imageMax) return <TooLarge />;
  const both = before && after;
  return (
    <div className="stack-tight">
      {both && (
        <div style={{ maxWidth: 200 }}>
          <Select
            label="Compare images"
            value={mode}
            onChange={setMode}
            options={[
              { value: 'side', label: 'Side by side' },
              { value: 'swipe', label: 'Swipe' },
              { value: 'blink', label: 'Blink' },
            ]}
          />
        </div>
      )}
      {both && mode === 'swipe' ? (
        <Swipe before={before} after={after} />
      ) : both && mode === 'blink' ? (
        <Blink before={before} after={after} />
      ) : (
        <div className={styles.images}>
          <figure>
            <figcaption className={styles.removed}>Before</figcaption>
            {before ? <Picture shown={before} label="Before" /> : <p className="muted">It was not there.</p>}
          </figure>
          <figure>
            <figcaption className={styles.added}>After</figcaption>
            {after ? <Picture shown={after} label="After" /> : <p className="muted">It is gone.</p>}
          </figure>
        </div>
      )}
    </div>
  );
}

function TooLarge() {
  return <p className="muted">Images of more than {bytes(imageMax)} are not compared here.</p>;
}

/** The address of a blob of the image; the browser decodes it, nothing in it runs. */
function useImage(shown: Shown) {
  const loaded = useQuery({
    queryKey: ['bytes', shown.repository, shown.ref, shown.path, shown.checksum, imageMax],
    staleTime: Infinity,
    gcTime: 60_000,
    queryFn: ({ signal }) => readBytes(shown, 0, imageMax, signal),
  });
  const [url, setUrl] = useState<string | null>(null);
  const type = imageTypeOf(shown.path, shown.contentType);
  useEffect(() => {
    if (!loaded.data) return;
    const made = URL.createObjectURL(new Blob([loaded.data], { type }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [loaded.data, type]);
  return { url, error: loaded.error, retry: () => void loaded.refetch() };
}

function Picture({ shown, label, style }: { shown: Shown; label: string; style?: React.CSSProperties }) {
  const { url, error, retry } = useImage(shown);
  const [size, setSize] = useState<{ width: number; height: number } | null>(null);
  const [broken, setBroken] = useState(false);
  if (error) return <ErrorPanel error={error} onRetry={retry} />;
  if (!url) return <Skeleton rows={3} />;
  if (broken) return <p className="muted">The browser cannot show this image.</p>;
  return (
    <>
      <img
        className={`${styles.image} ${size && size.width < 128 ? styles.small : ''}`}
        src={url}
        alt={`${label}: ${shown.path}`}
        style={style}
        onLoad={(event) =>
          setSize({ width: event.currentTarget.naturalWidth, height: event.currentTarget.naturalHeight })
        }
        onError={() => setBroken(true)}
      />
      {!style && size && (
        <span className="muted">
          {size.width} × {size.height}
        </span>
      )}
    </>
  );
}

function Swipe({ before, after }: { before: Shown; after: Shown }) {
  const [at, setAt] = useState(50);
  return (
    <div className="stack-tight">
      <label className="toolbar">
        Before{' '}
        <input
          type="range"
          className={styles.range}
          min={0}
          max={100}
          value={at}
          onChange={(event) => setAt(Number(event.target.value))}
          aria-label="Divider"
        />{' '}
        After
      </label>
      <div className={styles.stack}>
        <Picture shown={before} label="Before" style={{ clipPath: `inset(0 ${at}% 0 0)` }} />
        <Picture shown={after} label="After" style={{ clipPath: `inset(0 0 0 ${100 - at}%)` }} />
      </div>
    </div>
  );
}

function Blink({ before, after }: { before: Shown; after: Shown }) {
  const [second, setSecond] = useState(false);
  const still = matchMedia('(prefers-reduced-motion: reduce)').matches;
  useEffect(() => {
    if (still) return;
    const timer = setInterval(() => setSecond((now) => !now), blinkMs);
    return () => clearInterval(timer);
  }, [still]);
  return (
    <div className="stack-tight">
      <p className="muted">
        {second ? 'After' : 'Before'}{' '}
        {still && (
          <button type="button" onClick={() => setSecond(!second)}>
            Switch
          </button>
        )}
      </p>
      <div className={styles.stack}>
        <Picture shown={before} label="Before" style={{ visibility: second ? 'hidden' : 'visible' }} />
        <Picture shown={after} label="After" style={{ visibility: second ? 'visible' : 'hidden' }} />
      </div>
    </div>
  );
}
