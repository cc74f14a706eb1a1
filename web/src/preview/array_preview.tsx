import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { asError } from '@/api/errors';
import { bytes, count, counted } from '@/ui/format';
import { Loaded } from '@/ui/states';
import {
  numpyValues,
  parseNumpyHeader,
  parseSafetensorsHeader,
  safetensorsHeaderLength,
  shownElement,
  typeName,
} from './arrays';
import { type Shown, readBytes, useBytes } from './object_bytes';
import { Unreadable } from './preview_boundary';
import { TableView } from './table_view';
import { readZipDirectory, readZipFile } from './zip';
import styles from './preview.module.css';

const numpyBytes = 64 * 1024;
const valuesShown = 200;
const headerBytesMax = 16 * 1024 * 1024;
const npzArraysMax = 200;
const npzHeaderBytes = 4096;

export function NumpyPreview({ shown }: { shown: Shown }) {
  return (
    <Loaded query={useBytes(shown, numpyBytes)} rows={6}>
      {(content) => <Numpy shown={shown} content={content} />}
    </Loaded>
  );
}

function Numpy({ shown, content }: { shown: Shown; content: Uint8Array }) {
  const parsed = useMemo(() => {
    try {
      const header = parseNumpyHeader(content);
      return { header, values: numpyValues(header, content, valuesShown) };
    } catch (error) {
      return asError(error);
    }
  }, [content]);
  if (parsed instanceof Error) return <Unreadable shown={shown} error={parsed} />;
  const { header, values } = parsed;
  const total = header.shape.reduce((product, length) => product * length, 1);
  return (
    <div className={styles.facts}>
      <dl className="facts">
        <dt>Elements</dt>
        <dd>
          {count(total)} of <code>{typeName(header.dtype)}</code>
        </dd>
        <dt>Shape</dt>
        <dd>({header.shape.join(', ')})</dd>
        <dt>Order</dt>
        <dd>{header.fortran ? 'Fortran' : 'C'}</dd>
        <dt>Data</dt>
        <dd>{bytes(shown.size - header.dataAt)}</dd>
        <dt>First values</dt>
        <dd className="mono">
          {values === null
            ? 'not shown for this type'
            : `${values.map((value) => shownElement(value, header.dtype)).join(', ')}${values.length < total ? ', …' : ''}`}
        </dd>
      </dl>
    </div>
  );
}

/** The arrays of a .npz: a ZIP archive whose files are .npy. */
export function NpzPreview({ shown }: { shown: Shown }) {
  const arrays = useQuery({
    queryKey: ['npz', shown.repository, shown.ref, shown.path, shown.checksum],
    staleTime: Infinity,
    retry: false,
    queryFn: async ({ signal }) => {
      const read = (from: number, to: number) => readBytes(shown, from, to, signal);
      const files = (await readZipDirectory(shown.size, read)).filter((file) => file.name.endsWith('.npy'));
      const rows = await Promise.all(
        files.slice(0, npzArraysMax).map(async (file) => {
          const name = file.name.slice(0, -'.npy'.length);
          try {
            const { dtype, shape } = parseNumpyHeader(await readZipFile(file, npzHeaderBytes, read));
            return [name, typeName(dtype), `(${shape.join(', ')})`, bytes(file.bytes)];
          } catch (error) {
            if (signal.aborted) throw error;
            return [name, 'cannot be read', '', bytes(file.bytes)];
          }
        }),
      );
      return { count: files.length, rows };
    },
  });
  if (arrays.error) return <Unreadable shown={shown} error={arrays.error} />;
  return (
    <Loaded query={arrays} rows={6}>
      {({ count: total, rows }) => (
        <>
          <p className={styles.bar}>
            {counted(total, 'array')}
            {total > rows.length && `; the first ${rows.length} are shown`}
          </p>
          <TableView label={`Arrays of ${shown.path}`} names={['name', 'type', 'shape', 'size']} rows={rows} />
        </>
      )}
    </Loaded>
  );
}

export function SafetensorsPreview({ shown }: { shown: Shown }) {
  const header = useQuery({
    queryKey: ['safetensors', shown.repository, shown.ref, shown.path, shown.checksum],
    staleTime: Infinity,
    retry: false,
    queryFn: async ({ signal }) => {
      const length = safetensorsHeaderLength(await readBytes(shown, 0, 8, signal));
      if (length > headerBytesMax || length + 8 > shown.size)
        throw new Error('its header is longer than the file, or than 16 MB.');
      return parseSafetensorsHeader(new TextDecoder().decode(await readBytes(shown, 8, 8 + length, signal)));
    },
  });
  if (header.error) return <Unreadable shown={shown} error={header.error} />;
  return (
    <Loaded query={header} rows={6}>
      {({ tensors, metadata }) => (
        <>
          <p className={styles.bar}>
            {counted(tensors.length, 'tensor')},{' '}
            {count(
              tensors.reduce((sum, tensor) => sum + tensor.shape.reduce((product, length) => product * length, 1), 0),
            )}{' '}
            parameters
          </p>
          {metadata.length > 0 && (
            <dl className={`facts ${styles.facts}`}>
              {metadata.map(([key, value]) => (
                <Pair key={key} name={key} value={value} />
              ))}
            </dl>
          )}
          <TableView
            label={`Tensors of ${shown.path}`}
            names={['name', 'type', 'shape', 'size']}
            rows={tensors.map((tensor) => [
              tensor.name,
              tensor.dtype,
              `[${tensor.shape.join(', ')}]`,
              bytes(tensor.bytes),
            ])}
          />
        </>
      )}
    </Loaded>
  );
}

function Pair({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}
