import { useEffect, useMemo, useRef, useState } from 'react';
import { asError } from '@/api/errors';
import { Button } from '@/ui/button';
import { bytes, count } from '@/ui/format';
import { Loaded } from '@/ui/states';
import { type Shown, useBytes } from './object_bytes';
import { Unreadable } from './preview_boundary';
import { decodeTiff, pixelsOf, tiffBytesMax } from './tiff';
import styles from './preview.module.css';

/** Drawn on a canvas, since most browsers do not show TIFF. */
export function TiffPreview({ shown }: { shown: Shown }) {
  const query = useBytes(shown, tiffBytesMax);
  if (shown.size > tiffBytesMax)
    return <Unreadable shown={shown} error={new Error(`it is larger than ${bytes(tiffBytesMax)}.`)} />;
  return (
    <Loaded query={query} rows={6}>
      {(content) => <Pages shown={shown} content={content} />}
    </Loaded>
  );
}

function Pages({ shown, content }: { shown: Shown; content: Uint8Array<ArrayBuffer> }) {
  const [page, setPage] = useState(0);
  const canvas = useRef<HTMLCanvasElement>(null);
  const decoded = useMemo(() => {
    try {
      const pages = decodeTiff(content.buffer);
      return { pages: pages.length, image: pixelsOf(content.buffer, pages, page) };
    } catch (error) {
      return asError(error);
    }
  }, [content, page]);
  useEffect(() => {
    const context = canvas.current?.getContext('2d');
    if (!context || decoded instanceof Error) return;
    const { width, height, rgba } = decoded.image;
    context.canvas.width = width;
    context.canvas.height = height;
    context.putImageData(new ImageData(rgba, width, height), 0, 0);
  }, [decoded]);
  if (decoded instanceof Error) return <Unreadable shown={shown} error={decoded} />;
  const { pages, image } = decoded;
  return (
    <figure>
      {pages > 1 && (
        <div className={styles.bar}>
          <Button onPress={() => setPage(page - 1)} isDisabled={page === 0}>
            Previous
          </Button>
          <span>
            Page {count(page + 1)} of {count(pages)}
          </span>
          <Button onPress={() => setPage(page + 1)} isDisabled={page + 1 >= pages}>
            Next
          </Button>
        </div>
      )}
      <div className={styles.image}>
        <canvas ref={canvas} role="img" aria-label={shown.path} className={styles.canvas} />
      </div>
      <figcaption className={styles.bar}>
        {image.width} × {image.height} pixels
      </figcaption>
    </figure>
  );
}
