import { useMemo, useState } from 'react';
import { Button } from '@/ui/button';
import { Loaded } from '@/ui/states';
import { Code } from './code';
import { Markdown } from './markdown';
import { Frame } from './html_preview';
import { useMarkdownLinks } from './markdown_preview';
import { isTable, tableHeight } from './notebook_tables';
import { decodeText, type Shown, useBytes } from './object_bytes';
import { Note } from './part_note';
import { Unreadable } from './preview_boundary';
import { TextPreview } from './text_preview';
import styles from './preview.module.css';

const notebookBytesMax = 16 * 1024 * 1024;
const cellsShown = 50;

type Text = string | string[] | undefined;
interface Output {
  output_type?: string;
  text?: Text;
  data?: Record<string, Text>;
  ename?: string;
  evalue?: string;
  traceback?: string[];
}
interface Cell {
  cell_type?: string;
  source?: Text;
  outputs?: Output[];
  execution_count?: number | null;
}

const joined = (text: unknown): string => (Array.isArray(text) ? text.join('') : typeof text === 'string' ? text : '');
const withoutColours = (text: string) => text.replace(/\u001b\[[0-9;]*m/g, '');

/** Cells with their stored outputs. Nothing is run: tables are shown in a sandboxed frame, other HTML and scripts as text. */
export function NotebookPreview({ shown }: { shown: Shown }) {
  const query = useBytes(shown, notebookBytesMax);
  if (shown.size > notebookBytesMax)
    return (
      <>
        <Note>Too large to show its cells.</Note>
        <TextPreview shown={shown} language="json" />
      </>
    );
  return (
    <Loaded query={query} rows={8}>
      {(content) => <Cells shown={shown} content={content} />}
    </Loaded>
  );
}

function Cells({ shown, content }: { shown: Shown; content: Uint8Array }) {
  const [limit, setLimit] = useState(cellsShown);
  const links = useMarkdownLinks(shown);
  const notebook = useMemo(() => {
    try {
      const parsed = JSON.parse(decodeText(content, false) ?? '') as {
        cells?: unknown;
        metadata?: { language_info?: { name?: unknown } };
      };
      if (!Array.isArray(parsed.cells)) throw new Error('it has no cells.');
      const language = parsed.metadata?.language_info?.name;
      return {
        cells: parsed.cells.filter((cell) => typeof cell === 'object' && cell !== null) as Cell[],
        language: typeof language === 'string' ? language : 'python',
      };
    } catch (error) {
      return error as Error;
    }
  }, [content]);
  if (notebook instanceof Error) return <Unreadable shown={shown} error={notebook} />;
  return (
    <div className={styles.prose}>
      {notebook.cells.slice(0, limit).map((cell, index) =>
        cell.cell_type === 'markdown' ? (
          <div key={index} className={styles.prose}>
            <Markdown text={joined(cell.source)} links={links} />
          </div>
        ) : (
          <section key={index} className={styles.cell} aria-label={`Cell ${index + 1}`}>
            <Code
              text={joined(cell.source)}
              language={cell.cell_type === 'code' ? notebook.language : undefined}
              label={`Source of cell ${index + 1}`}
            />
            {(cell.outputs ?? []).map((output, at) => (
              <div
                key={at}
                className={styles.output}
                tabIndex={0}
                role="region"
                aria-label={`Output ${at + 1} of cell ${index + 1}`}
              >
                <OutputView output={output} title={`Table of output ${at + 1} of cell ${index + 1}`} />
              </div>
            ))}
          </section>
        ),
      )}
      {notebook.cells.length > limit && <Button onPress={() => setLimit(limit + cellsShown)}>Show more cells</Button>}
    </div>
  );
}

function OutputView({ output, title }: { output: Output; title: string }) {
  if (output.output_type === 'error')
    return <pre>{withoutColours((output.traceback ?? [`${output.ename}: ${output.evalue}`]).join('\n'))}</pre>;
  const data = output.data ?? {};
  for (const type of ['image/png', 'image/jpeg'] as const) {
    const image = joined(data[type]).replace(/\s/g, '');
    if (/^[A-Za-z0-9+/=]+$/.test(image)) return <img src={`data:${type};base64,${image}`} alt="Output of the cell" />;
  }
  const text = joined(output.text) || joined(data['text/plain']);
  const html = joined(data['text/html']);
  if (isTable(html)) return <Frame html={html} title={title} height={tableHeight(html)} />;
  return (
    <>
      {text && <pre>{withoutColours(text)}</pre>}
      {html && (
        <details>
          <summary>HTML output, as text</summary>
          <pre>{html}</pre>
        </details>
      )}
    </>
  );
}
