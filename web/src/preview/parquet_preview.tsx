import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from '@/ui/button';
import { bytes, count, counted } from '@/ui/format';
import { Loaded } from '@/ui/states';
import { type Shown, readBytes } from './object_bytes';
import { Note } from './part_note';
import { Unreadable } from './preview_boundary';
import { TableTools } from './table_tools';
import { TableView } from './table_view';
import styles from './preview.module.css';

const rowsAtOnce = 1000;

/** Reads the ranges that the viewer asks for. */
function bufferOf(shown: Shown) {
  return {
    byteLength: shown.size,
    slice: async (start: number, end?: number) =>
      (await readBytes(shown, start < 0 ? shown.size + start : start, end ?? shown.size)).buffer,
  };
}

export function ParquetPreview({ shown }: { shown: Shown }) {
  const [from, setFrom] = useState(0);
  const metadata = useQuery({
    queryKey: ['parquet', shown.repository, shown.ref, shown.path, shown.checksum],
    staleTime: Infinity,
    retry: false,
    queryFn: async () => {
      const { parquetMetadataAsync, parquetSchema } = await import('hyparquet');
      const file = await parquetMetadataAsync(bufferOf(shown));
      return { file, schema: parquetSchema(file), rows: Number(file.num_rows) };
    },
  });
  const page = useQuery({
    queryKey: ['parquet', shown.repository, shown.ref, shown.path, shown.checksum, from],
    staleTime: Infinity,
    retry: false,
    enabled: metadata.data !== undefined,
    queryFn: async () => {
      const [{ parquetReadObjects }, { compressors }] = await Promise.all([
        import('hyparquet'),
        import('./parquet_codecs'),
      ]);
      return parquetReadObjects({
        file: bufferOf(shown),
        metadata: metadata.data!.file,
        compressors,
        rowStart: from,
        rowEnd: Math.min(metadata.data!.rows, from + rowsAtOnce),
      });
    },
  });
  const error = metadata.error ?? page.error;
  if (error) return <Unreadable shown={shown} error={error} />;
  return (
    <Loaded query={metadata} rows={8}>
      {({ file, schema, rows }) => {
        const names = schema.children.map((child) => child.element.name);
        const to = Math.min(rows, from + rowsAtOnce);
        return (
          <>
            <TableTools
              shown={shown}
              kind="parquet"
              after={
                <>
                  <span className="grow" />
                  {rows > rowsAtOnce && (
                    <span className={styles.pager}>
                      <Button onPress={() => setFrom(Math.max(0, from - rowsAtOnce))} isDisabled={from === 0}>
                        Previous
                      </Button>
                      <span>
                        {count(from + 1)} to {count(to)}
                      </span>
                      <Button onPress={() => setFrom(from + rowsAtOnce)} isDisabled={to >= rows}>
                        Next
                      </Button>
                    </span>
                  )}
                </>
              }
            >
              <span>
                {counted(rows, 'row')}, {counted(names.length, 'column')},{' '}
                {counted(file.row_groups.length, 'row group')}
              </span>
            </TableTools>
            <details className={styles.bar}>
              <summary>Schema</summary>
              <table>
                <tbody>
                  {schema.children.map((child) => (
                    <tr key={child.element.name}>
                      <td className="mono">{child.element.name}</td>
                      <td className="muted">
                        {[
                          child.element.type ?? 'group',
                          child.element.logical_type?.type ?? child.element.converted_type,
                          child.element.repetition_type?.toLowerCase(),
                        ]
                          .filter(Boolean)
                          .join(', ')}
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </details>
            {file.created_by && (
              <Note>
                Written by {file.created_by}; {bytes(shown.size)}
              </Note>
            )}
            <Loaded query={page} rows={8}>
              {(objects) => (
                <TableView
                  label={`Rows of ${shown.path}`}
                  names={names}
                  rows={objects.map((object) => names.map((name) => object[name] as unknown))}
                />
              )}
            </Loaded>
          </>
        );
      }}
    </Loaded>
  );
}
