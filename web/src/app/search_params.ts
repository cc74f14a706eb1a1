// Search parameters as plain text: `?path=images/2/&q=cat`, a repeated name is a list. Routes give them types.

export type RawSearch = Record<string, string | string[] | undefined>;

export function parseSearch(text: string): RawSearch {
  const out: RawSearch = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const before = out[name];
    out[name] = before === undefined ? value : [...(Array.isArray(before) ? before : [before]), value];
  }
  return out;
}

export function stringifySearch(search: Record<string, unknown>): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(search)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item === undefined || item === null || item === '' || item === false) continue;
      parts.push(`${encode(name)}=${encode(item === true ? '1' : String(item))}`);
    }
  }
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

/** Slashes, commas, colons and @ are readable in an address, and mean nothing in a query. */
function encode(text: string): string {
  return encodeURIComponent(text).replace(/%2F/g, '/').replace(/%2C/g, ',').replace(/%3A/g, ':').replace(/%40/g, '@');
}

type Raw = unknown;

/** undefined if it is absent. */
export function text(raw: Raw): string | undefined {
  const value = Array.isArray(raw) ? raw[0] : raw;
  return value === undefined || value === '' ? undefined : String(value);
}

export function texts(raw: Raw): string[] | undefined {
  if (raw === undefined) return undefined;
  return (Array.isArray(raw) ? raw : [raw]).map(String).filter((value) => value !== '');
}

export function flag(raw: Raw): true | undefined {
  return raw === true || ['1', 'true'].includes(text(raw) ?? '') ? true : undefined;
}

export function integer(raw: Raw, min = 0, max = Number.MAX_SAFE_INTEGER): number | undefined {
  const value = Number(text(raw) ?? Number.NaN);
  return Number.isInteger(value) && value >= min && value <= max ? value : undefined;
}

export function oneOf<T extends string>(raw: Raw, allowed: readonly T[]): T | undefined {
  const value = text(raw);
  return allowed.find((item) => item === value);
}
