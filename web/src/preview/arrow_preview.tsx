import { useQuery } from '@tanstack/react-query';
import { bytes, counted } from '@/ui/format';
import { Loaded } from '@/ui/states';
import { type Shown, readBytes } from './object_bytes';
import { Unreadable } from './preview_boundary';
import { TableTools } from './table_tools';
import { TableView } from './table_view';
import styles from './preview.module.css';

const arrowBytesMax = 64 * 1024 * 1024;
const rowsShown = 1000;

/** Arrow IPC, as a file, a stream, or Feather. */
export function ArrowPreview({ shown }: { shown: Shown }) {
  const isTooBig = shown.size > arrowBytesMax;
  const table = useQuery({
    queryKey: ['arrow', shown.repository, shown.ref, shown.path, shown.checksum],
    staleTime: Infinity,
    gcTime: 60_000,
    retry: false,
    enabled: !isTooBig,
    queryFn: async ({ signal }) => {
      const [{ readArrow }, content] = await Promise.all([
        import('./arrow_table'),
        readBytes(shown, 0, shown.size, signal),
      ]);
      return readArrow(content, rowsShown);
    },
  });
  if (isTooBig) return <Unreadable shown={shown} error={new Error(`it is larger than ${bytes(arrowBytesMax)}.`)} />;
  if (table.error) return <Unreadable shown={shown} error={table.error} />;
  return (
    <Loaded query={table} rows={8}>
      {({ names, types, rows, count }) => (
        <>
          <TableTools shown={shown} kind="arrow">
            <span>
              {counted(count, 'row')}, {counted(names.length, 'column')}
              {rows.length < count && `; the first ${counted(rows.length, 'row')}`}
            </span>
          </TableTools>
          <details className={styles.bar}>
            <summary>Schema</summary>
            <table>
              <tbody>
                {names.map((name, index) => (
                  <tr key={index}>
                    <td className="mono">{name}</td>
                    <td className="muted">{types[index]}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </details>
          <TableView label={`Rows of ${shown.path}`} names={names} rows={rows} />
        </>
      )}
    </Loaded>
  );
}
