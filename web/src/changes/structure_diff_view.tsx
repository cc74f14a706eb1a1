import { parse } from 'yaml';
import { useMemo } from 'react';
import { Badge } from '@/ui/text';
import { counted } from '@/ui/format';
import type { Texts } from './compared_object';
import { changesMax, structureDiff, type StructureChange } from './structure_diff';
import { TextDiff } from './text_diff_view';
import styles from './changes.module.css';

const valueMax = 400;
/** Aliases of YAML that may be expanded: some lines can mean gigabytes. */
const aliasesMax = 100;

function parsed(text: string | undefined): unknown {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return parse(text, { maxAliasCount: aliasesMax, logLevel: 'silent' });
  }
}

/** Members of JSON or YAML that differ; what does not parse is compared as text. */
export function StructureDiff(texts: Texts) {
  const { left, right, isCut } = texts;
  const changes = useMemo((): StructureChange[] | null => {
    if (isCut) return null;
    try {
      return structureDiff(parsed(left), parsed(right));
    } catch {
      return null;
    }
  }, [left, right, isCut]);
  if (!changes)
    return (
      <>
        <p className="muted">It does not parse as a whole, so it is compared as text.</p>
        <TextDiff {...texts} />
      </>
    );
  if (changes.length === 0)
    return <p className="muted">Both sides have the same structure and values; only their text differs.</p>;
  return (
    <div className="stack-tight">
      <p>
        {changes.length === changesMax
          ? `The first ${counted(changesMax, 'member')} that differ`
          : `${counted(changes.length, 'member')} ${changes.length === 1 ? 'differs' : 'differ'}`}
      </p>
      <div className={styles.framed}>
        <table className={styles.facts}>
          <thead>
            <tr>
              <th scope="col">Change</th>
              <th scope="col">Member</th>
              <th scope="col">Before</th>
              <th scope="col">After</th>
            </tr>
          </thead>
          <tbody>
            {changes.map((change) => (
              <tr key={change.path}>
                <td>
                  <Badge kind={change.kind}>{change.kind}</Badge>
                </td>
                <th scope="row" className="mono">
                  {change.path || '(all)'}
                </th>
                <td className="mono">{change.kind === 'added' ? '' : valueText(change.before)}</td>
                <td className="mono">{change.kind === 'removed' ? '' : valueText(change.after)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function valueText(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > valueMax ? `${text.slice(0, valueMax)}…` : text;
}
