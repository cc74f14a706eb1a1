import { useQuery } from '@tanstack/react-query';
import type { PDFDocumentProxy } from 'pdfjs-dist';
import { useEffect, useRef, useState } from 'react';
import { Button } from '@/ui/button';
import { bytes } from '@/ui/format';
import { Loaded } from '@/ui/states';
import { type Shown, readBytes } from './object_bytes';
import { Unreadable } from './preview_boundary';
import styles from './preview.module.css';

const pdfBytesMax = 64 * 1024 * 1024;
const widthMax = 1200;

/** Drawn on a canvas by PDF.js, which runs no scripts of the document here. */
export function PdfPreview({ shown }: { shown: Shown }) {
  const document = useQuery({
    queryKey: ['pdf', shown.repository, shown.ref, shown.path, shown.checksum],
    staleTime: Infinity,
    gcTime: 10_000,
    retry: false,
    enabled: shown.size <= pdfBytesMax,
    queryFn: async ({ signal }) => {
      const [pdf, data] = await Promise.all([import('pdfjs-dist'), readBytes(shown, 0, shown.size, signal)]);
      pdf.GlobalWorkerOptions.workerPort ??= new Worker(
        new URL('pdfjs-dist/build/pdf.worker.min.mjs', import.meta.url),
        { type: 'module' },
      );
      return pdf.getDocument({
        data,
        isEvalSupported: false,
        enableXfa: false,
        useWasm: false,
        useSystemFonts: true,
        stopAtErrors: false,
        verbosity: 0,
      } as never).promise;
    },
  });
  if (shown.size > pdfBytesMax)
    return <Unreadable shown={shown} error={new Error(`it is larger than ${bytes(pdfBytesMax)}.`)} />;
  if (document.error) return <Unreadable shown={shown} error={document.error} />;
  return (
    <Loaded query={document} rows={8}>
      {(loaded) => <Pages document={loaded} name={shown.path} />}
    </Loaded>
  );
}

function Pages({ document, name }: { document: PDFDocumentProxy; name: string }) {
  const [page, setPage] = useState(1);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => {
    let current = true;
    let cancel = () => {};
    const draw = async () => {
      const loaded = await document.getPage(page);
      const element = canvas.current;
      if (!current || !element) return;
      const plain = loaded.getViewport({ scale: 1 });
      const width = Math.min(widthMax, (element.parentElement?.clientWidth ?? 600) * devicePixelRatio);
      const viewport = loaded.getViewport({ scale: width / plain.width });
      element.width = viewport.width;
      element.height = viewport.height;
      const task = loaded.render({ canvas: element, viewport });
      cancel = () => task.cancel();
      await task.promise;
    };
    draw().catch((thrown: Error) => {
      if (current && thrown.name !== 'RenderingCancelledException') setError(thrown);
    });
    return () => {
      current = false;
      cancel();
    };
  }, [document, page]);
  return (
    <>
      <div className={styles.bar}>
        <Button onPress={() => setPage(page - 1)} isDisabled={page === 1}>
          Previous
        </Button>
        <span role="status">
          Page {page} of {document.numPages}
        </span>
        <Button onPress={() => setPage(page + 1)} isDisabled={page === document.numPages}>
          Next
        </Button>
      </div>
      {error ? (
        <p role="alert" className={styles.bar}>
          This page cannot be drawn: {error.message}
        </p>
      ) : (
        <canvas ref={canvas} className={styles.canvas} role="img" aria-label={`Page ${page} of ${name}`} />
      )}
    </>
  );
}
