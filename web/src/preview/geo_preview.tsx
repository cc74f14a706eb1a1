import { useMemo, useState } from 'react';
import { Button } from '@/ui/button';
import { counted } from '@/ui/format';
import { Loaded } from '@/ui/states';
import { drawingOf, type GeoDrawing, projection, type Shape } from './geo';
import { decodeText, type Shown, useBytes } from './object_bytes';
import { Note } from './part_note';
import { TableView } from './table_view';
import { JsonPreview } from './tree_preview';
import styles from './preview.module.css';

const drawnBytesMax = 16 * 1024 * 1024;
const width = 720;
const margin = 12;
const columnsMax = 50;

/** Places as they are, without a map below them: that would be asked of another host. */
export function GeoPreview({ shown }: { shown: Shown }) {
  const [asTree, setAsTree] = useState(false);
  const tooBig = shown.size > drawnBytesMax;
  const content = useBytes(shown, drawnBytesMax);
  if (tooBig)
    return (
      <>
        <Note>Too large to be drawn: more than 16 MB.</Note>
        <JsonPreview shown={shown} />
      </>
    );
  return (
    <>
      <div className={styles.bar}>
        <Button onPress={() => setAsTree(!asTree)}>{asTree ? 'Show drawing' : 'Show as JSON'}</Button>
      </div>
      {asTree ? (
        <JsonPreview shown={shown} />
      ) : (
        <Loaded query={content} rows={8}>
          {(bytes) => <Drawn shown={shown} bytes={bytes} />}
        </Loaded>
      )}
    </>
  );
}

/** "longitude 10 to 11.4, latitude 47 to 48.4" */
function boundsText([west, south, east, north]: NonNullable<GeoDrawing['bounds']>): string {
  const side = (value: number) => Number(value.toFixed(5));
  return `longitude ${side(west)} to ${side(east)}, latitude ${side(south)} to ${side(north)}`;
}

function Drawn({ shown, bytes }: { shown: Shown; bytes: Uint8Array }) {
  const drawing = useMemo(() => {
    try {
      return drawingOf(JSON.parse(decodeText(bytes, false) ?? ''));
    } catch {
      return null;
    }
  }, [bytes]);
  if (drawing === null)
    return (
      <>
        <Note>This is not GeoJSON.</Note>
        <JsonPreview shown={shown} />
      </>
    );
  const names = [...new Set(drawing.properties.slice(0, 1000).flatMap((properties) => Object.keys(properties)))].slice(
    0,
    columnsMax,
  );
  return (
    <>
      {drawing.isCut && <Note>Only the first 200,000 points are drawn.</Note>}
      <p className={styles.bar}>
        {counted(drawing.features, 'feature')}
        {drawing.bounds && <>, {boundsText(drawing.bounds)}</>}
      </p>
      {drawing.bounds && <Picture drawing={drawing} label={`Drawing of ${shown.path}`} />}
      {names.length > 0 && (
        <TableView
          label={`Properties of ${shown.path}`}
          names={names}
          rows={drawing.properties.map((properties) => names.map((name) => properties[name]))}
        />
      )}
    </>
  );
}

function Picture({ drawing, label }: { drawing: GeoDrawing; label: string }) {
  const { height, at } = useMemo(() => projection(drawing.bounds!, width, margin), [drawing]);
  const pathOf = (shape: Shape) =>
    shape.lines
      .map(
        (line) =>
          `M${line
            .map((point) =>
              at(point)
                .map((value) => value.toFixed(1))
                .join(' '),
            )
            .join('L')}${shape.kind === 'area' ? 'Z' : ''}`,
      )
      .join('');
  const of = (kind: Shape['kind']) => drawing.shapes.filter((shape) => shape.kind === kind);
  // A point is a line of no length with round ends.
  const dots = of('point')
    .flatMap((shape) => shape.lines.flat())
    .map(
      (point) =>
        `M${at(point)
          .map((value) => value.toFixed(1))
          .join(' ')}h0`,
    )
    .join('');
  return (
    <svg role="img" aria-label={label} className={styles.geo} viewBox={`0 0 ${width} ${height}`}>
      {of('area').length > 0 && (
        <path d={of('area').map(pathOf).join('')} className={styles.geoArea} fillRule="evenodd" />
      )}
      {of('line').length > 0 && <path d={of('line').map(pathOf).join('')} className={styles.geoLine} />}
      {dots !== '' && <path d={dots} className={styles.geoPoint} />}
    </svg>
  );
}
