import { useMemo, useState } from 'react';
import { Button } from '@/ui/button';
import { counted } from '@/ui/format';
import { Loaded } from '@/ui/states';
import { delimiterOf, parseCsv } from './csv';
import { decodeText, type Shown, useBytes } from './object_bytes';
import { PartNote } from './part_note';
import { Unreadable } from './preview_boundary';
import { TableTools } from './table_tools';
import { TableView } from './table_view';
import { TextPreview } from './text_preview';
import styles from './preview.module.css';

const firstBytes = 1024 * 1024;
const bytesMax = 16 * 1024 * 1024;
const rowsMax = 100_000;

export function CsvPreview({ shown }: { shown: Shown }) {
  const [limit, setLimit] = useState(firstBytes);
  const [source, setSource] = useState(false);
  const query = useBytes(shown, limit);
  return (
    <>
      <TableTools shown={shown} kind="csv">
        <Button onPress={() => setSource(!source)}>{source ? 'Show table' : 'Show source'}</Button>
      </TableTools>
      {source ? (
        <TextPreview shown={shown} />
      ) : (
        <Loaded query={query} rows={8}>
          {(content) => (
            <>
              <PartNote
                shown={content.length}
                size={shown.size}
                onMore={limit < bytesMax ? () => setLimit(limit * 4) : undefined}
              />
              <CsvTable shown={shown} content={content} />
            </>
          )}
        </Loaded>
      )}
    </>
  );
}

function CsvTable({ shown, content }: { shown: Shown; content: Uint8Array }) {
  const isCut = content.length < shown.size;
  const parsed = useMemo(() => {
    const text = decodeText(content, isCut);
    if (text === null) return null;
    const rows = parseCsv(text.replace(/^\ufeff/, ''), delimiterOf(text, shown.path), rowsMax);
    if (isCut) rows.pop(); // the last one is not whole
    return { names: rows[0] ?? [], rows: rows.slice(1) };
  }, [content, isCut, shown.path]);
  if (parsed === null) return <Unreadable shown={shown} error={new Error('it is not text.')} />;
  return (
    <>
      <p className={styles.bar}>
        {counted(parsed.rows.length, 'row')}
        {isCut ? ' so far' : ''}, {counted(parsed.names.length, 'column')}
      </p>
      <TableView label={`Rows of ${shown.path}`} names={parsed.names} rows={parsed.rows} />
    </>
  );
}
