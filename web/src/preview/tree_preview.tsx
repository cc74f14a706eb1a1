import { useState } from 'react';
import { Button } from '@/ui/button';
import { Loaded } from '@/ui/states';
import { useQuery } from '@tanstack/react-query';
import { decodeText, type Shown, useBytes } from './object_bytes';
import { Note } from './part_note';
import { TableTools } from './table_tools';
import { TextPreview } from './text_preview';
import styles from './preview.module.css';

const treeBytesMax = 4 * 1024 * 1024;
const childrenShown = 100;
const depthMax = 100;

export function JsonPreview({ shown }: { shown: Shown }) {
  return <TreePreview shown={shown} language="json" parse={async (text) => JSON.parse(text) as unknown} />;
}

export function YamlPreview({ shown }: { shown: Shown }) {
  return (
    <TreePreview
      shown={shown}
      language="yaml"
      parse={async (text) => {
        const { parseAllDocuments } = await import('yaml');
        const documents = parseAllDocuments(text, { logLevel: 'silent' });
        const values = (Array.isArray(documents) ? documents : []).map((document) => {
          const error = document.errors[0];
          if (error) throw error;
          return document.toJS({ maxAliasCount: 100 }) as unknown;
        });
        return values.length === 1 ? values[0] : values;
      }}
    />
  );
}

function TreePreview({
  shown,
  language,
  parse,
}: {
  shown: Shown;
  language: string;
  parse: (text: string) => Promise<unknown>;
}) {
  const [source, setSource] = useState(false);
  const tooBig = shown.size > treeBytesMax;
  const switcher = !tooBig && (
    <Button onPress={() => setSource(!source)}>{source ? 'Show tree' : 'Show source'}</Button>
  );
  return (
    <>
      {tooBig && <Note>Too large for a tree; the text is shown in part.</Note>}
      {language === 'json' ? (
        <TableTools shown={shown} kind="json">
          {switcher}
        </TableTools>
      ) : (
        <div className={styles.bar}>{switcher}</div>
      )}
      {source || tooBig ? (
        <TextPreview shown={shown} language={language} />
      ) : (
        <Parsed shown={shown} parse={parse} language={language} />
      )}
    </>
  );
}

function Parsed({
  shown,
  parse,
  language,
}: {
  shown: Shown;
  parse: (text: string) => Promise<unknown>;
  language: string;
}) {
  const bytes = useBytes(shown, treeBytesMax);
  const parsed = useQuery({
    queryKey: ['parsed', language, shown.repository, shown.ref, shown.path, shown.checksum],
    enabled: bytes.data !== undefined,
    retry: false,
    queryFn: async () => {
      const text = decodeText(bytes.data!, false);
      if (text === null) throw new Error('it is not text.');
      return { value: await parse(text) };
    },
  });
  if (bytes.error) return <Loaded query={bytes}>{() => null}</Loaded>;
  if (parsed.error) {
    return (
      <>
        <Note>
          This is not valid {language.toUpperCase()}: {parsed.error.message}
        </Note>
        <TextPreview shown={shown} language={language} />
      </>
    );
  }
  return (
    <Loaded query={parsed} rows={8}>
      {({ value }) => (
        <div className={styles.tree} role="region" aria-label={`Content of ${shown.path}`} tabIndex={0}>
          <ul>
            <TreeNode name={undefined} value={value} depth={0} open />
          </ul>
        </div>
      )}
    </Loaded>
  );
}

function TreeNode({
  name,
  value,
  depth,
  open,
}: {
  name: string | undefined;
  value: unknown;
  depth: number;
  open: boolean;
}) {
  const [isOpen, setOpen] = useState(open);
  const [limit, setLimit] = useState(childrenShown);
  const label =
    name === undefined ? null : (
      <>
        <span className={styles.key}>{name}</span>:{' '}
      </>
    );
  if (typeof value !== 'object' || value === null || value instanceof Date || depth > depthMax) {
    return (
      <li>
        {label}
        {typeof value === 'string' ? (
          <span className={styles.string}>{JSON.stringify(value)}</span>
        ) : (
          <span className={styles.scalar}>{String(value)}</span>
        )}
      </li>
    );
  }
  const isList = Array.isArray(value);
  const entries: [string, unknown][] = isList
    ? value.map((item, index) => [String(index), item])
    : Object.entries(value);
  return (
    <li>
      <button type="button" className={styles.toggle} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? '▾ ' : '▸ '}
        {label}
        <span className="muted">{isList ? `[${entries.length}]` : `{${entries.length}}`}</span>
      </button>
      {isOpen && (
        <ul>
          {entries.slice(0, limit).map(([key, item]) => (
            <TreeNode key={key} name={key} value={item} depth={depth + 1} open={depth < 1 && entries.length <= 20} />
          ))}
          {entries.length > limit && (
            <li>
              <button type="button" className={styles.toggle} onClick={() => setLimit(limit * 10)}>
                <u>{entries.length - limit} more</u>
              </button>
            </li>
          )}
        </ul>
      )}
    </li>
  );
}
