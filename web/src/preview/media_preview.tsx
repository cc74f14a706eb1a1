import { useEffect, useState } from 'react';
import { objectUrl } from '@/api/client';
import { bytes } from '@/ui/format';
import { Loaded } from '@/ui/states';
import { imageTypeOf } from './kinds';
import { type Shown, useBytes } from './object_bytes';
import { Unreadable } from './preview_boundary';
import styles from './preview.module.css';

const imageBytesMax = 64 * 1024 * 1024;

function useBlobUrl(content: Uint8Array<ArrayBuffer>, type: string): string | undefined {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([content], { type }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [content, type]);
  return url;
}

export function ImagePreview({ shown }: { shown: Shown }) {
  return <AsImage shown={shown} type={imageTypeOf(shown.path, shown.contentType)} />;
}

/** In an img element a drawing runs no script and fetches nothing. */
export function SvgPreview({ shown }: { shown: Shown }) {
  return <AsImage shown={shown} type="image/svg+xml" />;
}

function AsImage({ shown, type }: { shown: Shown; type: string }) {
  const query = useBytes(shown, imageBytesMax);
  if (shown.size > imageBytesMax)
    return <Unreadable shown={shown} error={new Error(`it is larger than ${bytes(imageBytesMax)}.`)} />;
  return (
    <Loaded query={query} rows={6}>
      {(content) => <Picture shown={shown} content={content} type={type} />}
    </Loaded>
  );
}

function Picture({ shown, content, type }: { shown: Shown; content: Uint8Array<ArrayBuffer>; type: string }) {
  const url = useBlobUrl(content, type);
  const [size, setSize] = useState<{ width: number; height: number } | 'broken'>();
  if (size === 'broken') return <Unreadable shown={shown} error={new Error('the browser cannot decode this image.')} />;
  return (
    <figure>
      <div className={`${styles.image} ${size && size.width < 64 ? styles.small : ''}`}>
        {url && (
          <img
            src={url}
            alt={shown.path}
            onLoad={(event) =>
              setSize({ width: event.currentTarget.naturalWidth, height: event.currentTarget.naturalHeight })
            }
            onError={() => setSize('broken')}
          />
        )}
      </div>
      <figcaption className={styles.bar}>{size ? `${size.width} × ${size.height} pixels` : ' '}</figcaption>
    </figure>
  );
}

export function AudioPreview({ shown }: { shown: Shown }) {
  return <Media shown={shown} as="audio" />;
}

export function VideoPreview({ shown }: { shown: Shown }) {
  return <Media shown={shown} as="video" />;
}

function Media({ shown, as: Element }: { shown: Shown; as: 'audio' | 'video' }) {
  const [broken, setBroken] = useState(false);
  // It loads from the moment that it exists: what failed before it was part of the page had no listener.
  const look = (element: HTMLMediaElement | null) => {
    if (element?.error) setBroken(true);
  };
  if (broken) return <Unreadable shown={shown} error={new Error('the browser cannot play it.')} />;
  return (
    <Element
      ref={look}
      className={styles.media}
      controls
      preload="metadata"
      src={objectUrl(shown.repository, shown.ref, shown.path)}
      onError={() => setBroken(true)}
      aria-label={shown.path}
    />
  );
}
