import { useMemo, useState } from 'react';
import { Button } from '@/ui/button';
import { useNarrow } from '@/ui/data_table';
import { Select } from '@/ui/field';
import { counted } from '@/ui/format';
import type { Texts } from './compared_object';
import { type DiffLine, differingPart, diffLines, hunksOf, pairsOf, splitLines } from './text_diff';
import styles from './changes.module.css';

type Layout = 'inline' | 'split';
const key = 'tarn.diff.layout';
/** Lines that are rendered at first. */
const linesMax = 2000;
const marks = { same: '', removed: '−', added: '+' } as const;

/** Lines that differ, inline or side by side. */
export function TextDiff({ left, right }: Texts) {
  const narrow = useNarrow();
  const [layout, setLayout] = useState<Layout>(() =>
    localStorage.getItem(key) === 'split' && !narrow ? 'split' : 'inline',
  );
  const [opened, setOpened] = useState<ReadonlySet<number>>(() => new Set());
  const [shown, setShown] = useState(linesMax);
  const lines = useMemo(() => diffLines(splitLines(left ?? ''), splitLines(right ?? '')), [left, right]);
  const hunks = useMemo(() => hunksOf(lines), [lines]);
  const added = lines.filter((line) => line.kind === 'added').length;
  const removed = lines.filter((line) => line.kind === 'removed').length;
  let room = shown;
  return (
    <div className="stack-tight">
      <div className="toolbar">
        <span className={styles.added}>+{counted(added, 'line')}</span>
        <span className={styles.removed}>−{counted(removed, 'line')}</span>
        <span className="grow" />
        <Select
          label="Layout"
          hideLabel
          value={layout}
          options={[
            { value: 'inline', label: 'Inline' },
            { value: 'split', label: 'Side by side' },
          ]}
          onChange={(next) => {
            localStorage.setItem(key, next);
            setLayout(next);
          }}
        />
      </div>
      {added + removed === 0 ? (
        <p className="muted">The text is the same; line ends or the last empty line may differ.</p>
      ) : (
        <div className={styles.framed} role="region" aria-label="Text that differs" tabIndex={0}>
          <table className={styles.text}>
            <colgroup>
              {layout === 'inline' ? (
                <>
                  <col style={{ width: narrow ? 32 : 48 }} />
                  <col style={{ width: narrow ? 32 : 48 }} />
                  <col style={{ width: 24 }} />
                  <col />
                </>
              ) : (
                <>
                  <col style={{ width: 48 }} />
                  <col />
                  <col style={{ width: 48 }} />
                  <col />
                </>
              )}
            </colgroup>
            {hunks.map((hunk, index) => {
              const take = Math.max(0, room);
              room -= hunk.lines.length;
              return (
                <tbody key={index}>
                  {hunk.hidden.length > 0 &&
                    (opened.has(index) ? (
                      <Lines lines={hunk.hidden.slice(0, linesMax)} layout={layout} />
                    ) : (
                      <tr className={styles.more}>
                        <td colSpan={4}>
                          <Button kind="quiet" onPress={() => setOpened(new Set([...opened, index]))}>
                            Show {counted(hunk.hidden.length, 'equal line')}
                          </Button>
                        </td>
                      </tr>
                    ))}
                  <Lines lines={hunk.lines.slice(0, take)} layout={layout} />
                </tbody>
              );
            })}
          </table>
        </div>
      )}
      {room < 0 && (
        <div>
          <Button onPress={() => setShown(shown + 5 * linesMax)}>Show {counted(-room, 'more line')}</Button>
        </div>
      )}
    </div>
  );
}

function Lines({ lines, layout }: { lines: readonly DiffLine[]; layout: Layout }) {
  const pairs = pairsOf(lines);
  if (layout === 'split') {
    return pairs.map((pair, at) => (
      <tr key={at}>
        <Half line={pair.left} other={pair.right} number={pair.left?.left} />
        <Half line={pair.right} other={pair.left} number={pair.right?.right} />
      </tr>
    ));
  }
  // A removed line is compared with the added one that would be beside it.
  const partner = new Map<DiffLine, DiffLine | undefined>();
  for (const pair of pairs) {
    if (pair.left && pair.left !== pair.right) partner.set(pair.left, pair.right);
    if (pair.right && pair.left !== pair.right) partner.set(pair.right, pair.left);
  }
  return lines.map((line, at) => (
    <tr key={at} className={classOf(line)}>
      <td className={styles.lineNumber}>{line.left}</td>
      <td className={styles.lineNumber}>{line.right}</td>
      <td className={styles.mark}>
        {marks[line.kind]}
        {line.kind !== 'same' && <span className="visually-hidden">{line.kind}</span>}
      </td>
      <td>
        <LineText line={line} other={partner.get(line)} />
      </td>
    </tr>
  ));
}

function Half({
  line,
  other,
  number,
}: {
  line: DiffLine | undefined;
  other: DiffLine | undefined;
  number: number | undefined;
}) {
  const name = line ? classOf(line) : styles.lineNone;
  return (
    <>
      <td className={`${styles.lineNumber} ${name ?? ''}`}>{number}</td>
      <td className={name}>
        {line && line.kind !== 'same' && <span className="visually-hidden">{line.kind} </span>}
        {line && <LineText line={line} other={other} />}
      </td>
    </>
  );
}

function classOf(line: DiffLine): string | undefined {
  return line.kind === 'added' ? styles.lineAdded : line.kind === 'removed' ? styles.lineRemoved : undefined;
}

function LineText({ line, other }: { line: DiffLine; other: DiffLine | undefined }) {
  if (line.kind === 'same' || !other || other.kind === 'same') return line.text;
  const [begin, end, otherEnd] = differingPart(line.text, other.text);
  // Lines that share little are easier to read without marks.
  if (begin + (line.text.length - end) < 0.3 * line.text.length || (end === begin && otherEnd === begin))
    return line.text;
  return (
    <>
      {line.text.slice(0, begin)}
      {end > begin && <mark>{line.text.slice(begin, end)}</mark>}
      {line.text.slice(end)}
    </>
  );
}
