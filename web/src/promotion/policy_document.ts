// The document of a gate policy as a form edits it: what the form does not know, and comments, stay.
import { type Document, isMap, isSeq, parseDocument } from 'yaml';

type Path = (string | number)[];

export interface MetricForm {
  name: string;
  goal: string;
  min: string;
  max: string;
  minDelta: string;
  primary: boolean;
}

/** A document that can be edited; null if it is no YAML map. */
function read(text: string): Document | null {
  const document = parseDocument(text);
  return document.errors.length === 0 && (isMap(document.contents) || document.contents === null) ? document : null;
}

export function isEditable(text: string): boolean {
  return read(text) !== null;
}

/** A scalar as text, "" if it is absent. */
export function fieldOf(text: string, path: Path): string {
  const value: unknown = read(text)?.getIn(path);
  return value === undefined || value === null || typeof value === 'object' ? '' : String(value);
}

/** Texts of a list. */
export function listOf(text: string, path: Path): string[] {
  const value: unknown = read(text)?.getIn(path);
  return isSeq(value) ? (value.toJSON() as unknown[]).map(String) : [];
}

export function metricsOf(text: string): MetricForm[] {
  const document = read(text);
  const metrics: unknown = document?.get('metrics');
  if (!isSeq(metrics)) return [];
  const shown = (value: unknown) =>
    value === undefined || value === null || typeof value === 'object' ? '' : String(value);
  return (metrics.toJSON() as Record<string, unknown>[]).map((metric) => ({
    name: shown(metric?.name),
    goal: shown(metric?.goal),
    min: shown(metric?.min),
    max: shown(metric?.max),
    minDelta: shown((metric?.vs_champion as Record<string, unknown> | undefined)?.min_delta),
    primary: metric?.primary === true,
  }));
}

/** A finite number: JSON would write null for infinity and NaN. */
export function isNumber(text: string): boolean {
  return text.trim() !== '' && Number.isFinite(Number(text));
}

/** As YAML would read it: numbers and booleans are no texts. */
function scalar(value: string): string | number | boolean {
  const trimmed = value.trim();
  if (trimmed === 'true' || trimmed === 'false') return trimmed === 'true';
  return isNumber(trimmed) ? Number(trimmed) : trimmed;
}

/** The text with one member changed; "" and an empty list remove it, and maps that are then empty. */
export function withField(text: string, path: Path, value: string | readonly string[] | boolean): string {
  const document = read(text);
  if (!document) return text;
  if (value === '' || (Array.isArray(value) && value.length === 0)) {
    document.deleteIn(path);
    for (let length = path.length - 1; length > 0; --length) {
      const parent: unknown = document.getIn(path.slice(0, length));
      if (!isMap(parent) || parent.items.length > 0) break;
      document.deleteIn(path.slice(0, length));
    }
  } else {
    const next = typeof value === 'string' ? scalar(value) : value;
    // A list in one line, as the documentation writes it.
    document.setIn(path, Array.isArray(next) ? Object.assign(document.createNode(next), { flow: true }) : next);
  }
  return document.toString({ lineWidth: 0 });
}

export function withMetric(text: string): string {
  const document = read(text);
  if (!document) return text;
  const rule = Object.assign(document.createNode({ name: 'accuracy', goal: 'max' }), { flow: true });
  const metrics: unknown = document.get('metrics');
  if (isSeq(metrics)) metrics.add(rule);
  else document.set('metrics', document.createNode([rule]));
  return document.toString({ lineWidth: 0 });
}

export function withoutMetric(text: string, index: number): string {
  const document = read(text);
  if (!document) return text;
  document.deleteIn(['metrics', index]);
  const metrics: unknown = document.get('metrics');
  if (isSeq(metrics) && metrics.items.length === 0) document.delete('metrics');
  return document.toString({ lineWidth: 0 });
}
