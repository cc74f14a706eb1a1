import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Suspense, lazy } from 'react';
import { useBytes } from '@/preview/object_bytes';
import { PreviewBoundary } from '@/preview/preview_boundary';
import { bytes } from '@/ui/format';
import { Icon } from '@/ui/icon';
import { Loaded, Skeleton } from '@/ui/states';
import { type ObjectStats, readmeQuery, shownOf } from './object_queries';
import { nameOf } from './paths';
import styles from './readme.module.css';

/** A larger one is only named: it would take long to render, and nobody reads it below a listing. */
const readmeBytesMax = 256 * 1024;

const MarkdownText = lazy(() =>
  import('@/preview/markdown_preview').then((module) => ({ default: module.MarkdownText })),
);

/** The README.md of a folder at a ref; null where there is none. */
export function useReadme(repository: string, ref: string, prefix: string) {
  return useQuery(readmeQuery(repository, ref, prefix)).data ?? null;
}

/** The README.md of a folder, rendered. Links and images are those of the same folder and ref. */
export function Readme({ repository, at, object }: { repository: string; at: string; object: ObjectStats }) {
  const shown = shownOf(repository, at, object);
  return (
    <section className={styles.readme} aria-label={nameOf(object.path)}>
      <h2 className={styles.head}>
        <Icon name="file" />
        <Link to="." search={(before) => ({ ...before, object: object.path })}>
          {nameOf(object.path)}
        </Link>
      </h2>
      {shown.size > readmeBytesMax ? (
        <p className={styles.note}>It has {bytes(shown.size)}, more than is shown here. Open it to read it.</p>
      ) : (
        <PreviewBoundary key={shown.checksum} shown={shown}>
          <Suspense fallback={<Skeleton rows={4} />}>
            <Content shown={shown} />
          </Suspense>
        </PreviewBoundary>
      )}
    </section>
  );
}

function Content({ shown }: { shown: ReturnType<typeof shownOf> }) {
  const content = useBytes(shown, readmeBytesMax);
  return (
    <Loaded query={content} rows={4}>
      {(data) => <MarkdownText shown={shown} content={data} />}
    </Loaded>
  );
}
