type Scalar = string | number | boolean | Date;
const isScalar = (value: unknown): value is Scalar =>
  ['string', 'number', 'boolean'].includes(typeof value) || value instanceof Date;
const scalarText = (value: Scalar) => (value instanceof Date ? value.toISOString() : String(value));

/** The names and values of the YAML before a model card, as text; undefined if it is no mapping. */
export function frontMatterPairs(value: unknown): [string, string][] | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || value instanceof Date) return undefined;
  return Object.entries(value).map(([name, item]: [string, unknown]) => {
    if (item === null || item === undefined) return [name, ''];
    if (isScalar(item)) return [name, scalarText(item)];
    if (Array.isArray(item) && item.every(isScalar)) return [name, item.map(scalarText).join(', ')];
    return [name, JSON.stringify(item)];
  });
}
