import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { answer, api, type Schemas } from '@/api/client';
import { ApiError } from '@/api/errors';
import { kindOf } from '@/preview/kinds';
import { decodeText, type Shown, useBytes } from '@/preview/object_bytes';
import { Select } from '@/ui/field';
import { bytes } from '@/ui/format';
import { ErrorPanel, Skeleton } from '@/ui/states';
import { Bytes, Time } from '@/ui/text';
import type { ContentProps, Texts } from './compared_object';
import { diffKey, type Sides } from './diff_queries';
import { ImageDiff } from './image_diff';
import { StructureDiff } from './structure_diff_view';
import { CsvDiff, ParquetDiff } from './table_diff_view';
import { TextDiff } from './text_diff_view';
import styles from './changes.module.css';

type Stats = Schemas['ObjectStats'];
type View = 'text' | 'structure' | 'table' | 'image' | 'none';

/** Bytes of each side that are compared as text; of larger objects, the first ones. */
const textMax = 1 << 20;

/** The object on one side; null if it is not there. By a listing, in which that is no error. */
function useSide(sides: Sides, ref: string, path: string) {
  return useQuery({
    queryKey: [...diffKey(sides), 'object', ref, path],
    queryFn: async ({ signal }): Promise<Stats | null> => {
      try {
        const { results } = await answer(
          api.GET('/repositories/{repository}/refs/{ref}/objects/ls', {
            params: { path: { repository: sides.repository, ref }, query: { prefix: path, amount: 1 } },
            signal,
          }),
        );
        return results[0]?.path === path ? results[0] : null;
      } catch (error) {
        if (error instanceof ApiError && error.status === 410) return null; // its data has expired
        throw error;
      }
    },
  });
}

/** The views that a kind of object has, the best one first. */
function viewsOf(path: string, contentType: string | undefined): View[] {
  switch (kindOf(path, contentType)) {
    case 'image':
      return ['image'];
    case 'json':
    case 'yaml':
      return ['structure', 'text'];
    case 'table':
      return ['table', 'text'];
    case 'parquet':
      return ['table'];
    case 'text':
    case 'markdown':
    case 'html':
    case 'svg':
    case 'notebook':
    case 'none':
      return ['text'];
    default:
      return ['none'];
  }
}

const viewLabels: Record<View, string> = {
  text: 'Text',
  structure: 'Structure',
  table: 'Table',
  image: 'Image',
  none: 'Metadata',
};

/** How one object differs between two sides. */
export function ObjectDiff({ sides, path }: { sides: Sides; path: string }) {
  const left = useSide(sides, sides.readLeft, path);
  const right = useSide(sides, sides.readRight, path);
  const [chosen, setChosen] = useState<View | null>(null);
  const error = left.error ?? right.error;
  if (error)
    return (
      <ErrorPanel
        error={error}
        onRetry={() => {
          void left.refetch();
          void right.refetch();
        }}
      />
    );
  if (left.data === undefined || right.data === undefined) return <Skeleton rows={4} />;
  const views = viewsOf(path, right.data?.content_type ?? left.data?.content_type);
  const view = chosen && views.includes(chosen) ? chosen : views[0]!;
  const before = left.data ? shownOf(sides.repository, sides.readLeft, left.data) : undefined;
  const after = right.data ? shownOf(sides.repository, sides.readRight, right.data) : undefined;
  const sameBytes = before && after && before.checksum === after.checksum;
  return (
    <>
      <ObjectFacts before={left.data} after={right.data} />
      {views.length > 1 && !sameBytes && (
        <div style={{ maxWidth: 200 }}>
          <Select
            label="View"
            value={view}
            onChange={setChosen}
            options={views.map((value) => ({ value, label: viewLabels[value] }))}
          />
        </div>
      )}
      {sameBytes ? (
        <p className="muted">The bytes are the same on both sides; the metadata differs.</p>
      ) : (
        <Content view={view} before={before} after={after} path={path} />
      )}
    </>
  );
}

function shownOf(repository: string, ref: string, stats: Stats): Shown {
  return {
    repository,
    ref,
    path: stats.path,
    size: stats.size_bytes ?? 0,
    checksum: stats.checksum,
    contentType: stats.content_type,
  };
}

function Content({ view, before, after, path }: ContentProps & { view: View; path: string }) {
  if (view === 'image') return <ImageDiff before={before} after={after} />;
  if (view === 'table' && kindOf(path, (after ?? before)?.contentType) === 'parquet')
    return <ParquetDiff before={before} after={after} />;
  if (view === 'none') return <p className="muted">Objects of this kind are compared by size and checksum.</p>;
  return (
    <BothTexts before={before} after={after}>
      {(texts) =>
        view === 'structure' ? (
          <StructureDiff {...texts} />
        ) : view === 'table' ? (
          <CsvDiff {...texts} path={path} />
        ) : (
          <TextDiff {...texts} />
        )
      }
    </BothTexts>
  );
}

const absent: Shown = { repository: '', ref: '', path: '', size: 0, checksum: '', contentType: undefined };

function BothTexts({ before, after, children }: ContentProps & { children: (texts: Texts) => ReactNode }) {
  const left = useBytes(before ?? absent, textMax);
  const right = useBytes(after ?? absent, textMax);
  const error = left.error ?? right.error;
  if (error)
    return (
      <ErrorPanel
        error={error}
        onRetry={() => {
          void left.refetch();
          void right.refetch();
        }}
      />
    );
  if (!left.data || !right.data) return <Skeleton rows={6} />;
  const isCut = (before?.size ?? 0) > textMax || (after?.size ?? 0) > textMax;
  const leftText = before && decodeText(left.data, before.size > textMax);
  const rightText = after && decodeText(right.data, after.size > textMax);
  if (leftText === null || rightText === null)
    return <p className="muted">These are not text; the sizes and checksums above say how they differ.</p>;
  return (
    <>
      {isCut && <p className="muted">Only the first {bytes(textMax)} of each side are compared here.</p>}
      {children({ left: leftText, right: rightText, isCut })}
    </>
  );
}

/** Size, type, checksum, time and metadata of both sides; what is equal is shown once. */
function ObjectFacts({ before, after }: { before: Stats | null; after: Stats | null }) {
  const names = new Set([...Object.keys(before?.metadata ?? {}), ...Object.keys(after?.metadata ?? {})]);
  const rows: [string, ReactNode, ReactNode, boolean][] = [
    [
      'Size',
      before && <Bytes of={before.size_bytes} />,
      after && <Bytes of={after.size_bytes} />,
      before?.size_bytes === after?.size_bytes,
    ],
    ['Type', before?.content_type, after?.content_type, before?.content_type === after?.content_type],
    [
      'Checksum',
      before && <span className="mono">{before.checksum}</span>,
      after && <span className="mono">{after.checksum}</span>,
      before?.checksum === after?.checksum,
    ],
    [
      'Modified',
      before && <Time at={before.mtime} />,
      after && <Time at={after.mtime} />,
      before?.mtime === after?.mtime,
    ],
    ...[...names].sort().map((name): [string, ReactNode, ReactNode, boolean] => {
      const was = before?.metadata?.[name];
      const is = after?.metadata?.[name];
      return [`metadata ${name}`, was, is, was === is];
    }),
  ];
  return (
    <div className={styles.framed}>
      <table className={styles.facts}>
        <thead>
          <tr>
            <th scope="col">Object</th>
            <th scope="col">Before</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, was, is, same]) => (
            <tr key={name}>
              <th scope="row" className="muted">
                {name}
              </th>
              <td className={same ? 'muted' : styles.lineRemoved}>{was ?? <span className="muted">none</span>}</td>
              <td className={same ? 'muted' : styles.lineAdded}>{is ?? <span className="muted">none</span>}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
