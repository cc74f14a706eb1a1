import { type RunState, runStates } from './runs_search';

// The filter language of `tarn exp ls --where`, and what can follow a text that is being typed.

const operators = ['>=', '<=', '!=', '>', '<', '='] as const;
/** Names that are no metric or parameter; each takes "=" alone. */
export const listFields = ['name', 'tag', 'state', 'experiment', 'branch', 'git_sha'] as const;
export type ListField = (typeof listFields)[number];

type Condition = { kind: 'where'; text: string } | { kind: 'field'; field: ListField; value: string };
type Wrong = { kind: 'wrong'; why: string };
export type Parsed = Condition | Wrong;

export const isRunState = (text: string): text is RunState => runStates.some((state) => state === text);

/** " and " before what begins a condition; elsewhere it is part of a value. */
const joint = new RegExp(`\\s+and\\s+(?=(?:metrics|params)\\.|(?:${listFields.join('|')})\\s*=)`, 'i');

/** Conditions that are joined by "and", or why one of them is none. */
export function parseConditions(text: string): Condition[] | Wrong {
  const out: Condition[] = [];
  for (const part of text.split(joint)) {
    const parsed = parseCondition(part);
    if (parsed.kind === 'wrong') return parsed;
    out.push(parsed);
  }
  return out;
}

/** As the server reads a condition; and name=, tag=, state=, experiment=, branch=, git_sha=. */
export function parseCondition(text: string): Parsed {
  const trimmed = text.trim();
  const match = /^([^<>=!]+?)\s*(>=|<=|!=|>|<|=)\s*(.*)$/s.exec(trimmed);
  if (!match) return { kind: 'wrong', why: 'Needs one of the operators > >= < <= = !=' };
  const [, name, operator, value] = match as unknown as [string, string, string, string];
  const field = listFields.find((item) => item === name);
  if (field) {
    if (operator !== '=') return { kind: 'wrong', why: `${field} takes = alone` };
    if (value === '') return { kind: 'wrong', why: `Needs a value after ${field} =` };
    if (field === 'state' && !isRunState(value))
      return { kind: 'wrong', why: `state must be ${runStates.slice(0, -1).join(', ')} or ${runStates.at(-1)}` };
    return { kind: 'field', field, value };
  }
  const isMetric = name.startsWith('metrics.') && name.length > 'metrics.'.length;
  const isParam = name.startsWith('params.') && name.length > 'params.'.length;
  if (!isMetric && !isParam)
    return {
      kind: 'wrong',
      why: `Must begin with metrics. or params., or be one of ${listFields.map((item) => `${item}=`).join(', ')}`,
    };
  const needsNumber = isMetric || (operator !== '=' && operator !== '!=');
  if (needsNumber && (value === '' || Number.isNaN(Number(value))))
    return { kind: 'wrong', why: `${name} ${operator} needs a number` };
  return { kind: 'where', text: `${name}${operator}${value}` };
}

export interface Completion {
  /** The text as it will be. */
  text: string;
  /** The text that is shown. */
  label: string;
  /** Whether the condition is then complete. */
  done: boolean;
}

const completionsMax = 50;

/** Names that contain what was typed (by their beginning first), then operators, then known values of a parameter. */
export function complete(
  typed: string,
  columns: readonly string[],
  values: (column: string) => readonly string[],
): Completion[] {
  const text = typed.trimStart();
  const match = /^([^<>=!]*?)\s*(?:(>=|<=|!=|>|<|=|!)\s*([^<>=!]*))?$/s.exec(text);
  const name = match?.[1] ?? '';
  const operator = match?.[2];
  if (operator && operator !== '!') {
    if (!columns.includes(name) && name !== 'state') return [];
    const wanted = match?.[3] ?? '';
    return (name === 'state' ? runStates : values(name))
      .filter((value) => value.startsWith(wanted) && value !== wanted)
      .slice(0, completionsMax)
      .map((value) => ({ text: `${name}${operator}${value}`, label: value, done: true }));
  }
  const all = [...columns, ...listFields];
  if (all.includes(name) && !text.endsWith('.')) {
    const allowed = listFields.some((item) => item === name) ? (['='] as const) : operators;
    return allowed
      .filter((item) => item.startsWith(operator ?? ''))
      .map((item) => ({ text: `${name} ${item} `, label: `${name} ${item}`, done: false }));
  }
  const wanted = name.toLowerCase();
  const matching = all.filter((column) => column.toLowerCase().includes(wanted));
  const begins = (column: string) =>
    column.toLowerCase().startsWith(wanted) ||
    column
      .slice(column.indexOf('.') + 1)
      .toLowerCase()
      .startsWith(wanted);
  return [...matching.filter(begins), ...matching.filter((column) => !begins(column))]
    .slice(0, completionsMax)
    .map((column) => ({ text: column, label: column, done: false }));
}
