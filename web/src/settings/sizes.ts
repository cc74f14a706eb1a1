// Sizes as people write them: "500 GB", "1.5TiB", "1000000".

const factors: Record<string, number> = {
  '': 1,
  b: 1,
  k: 1e3,
  kb: 1e3,
  m: 1e6,
  mb: 1e6,
  g: 1e9,
  gb: 1e9,
  t: 1e12,
  tb: 1e12,
  p: 1e15,
  pb: 1e15,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
  pib: 2 ** 50,
};

/** null if it is none; undefined if nothing is there. */
export function parseSize(text: string): number | null | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  const match = /^(\d[\d,]*(?:\.\d+)?)\s*([a-z]*)$/i.exec(trimmed);
  const factor = match && factors[match[2]!.toLowerCase()];
  if (!match || factor === undefined || factor === null) return null;
  const value = Math.round(Number(match[1]!.replace(/,/g, '')) * factor);
  return Number.isSafeInteger(value) ? value : null;
}

/** As short as it can be written without loss: 500000000000 is "500 GB", 1073741824 is "1 GiB". */
export function writeSize(value: number | undefined): string {
  if (value === undefined) return '';
  for (const unit of ['PB', 'PiB', 'TB', 'TiB', 'GB', 'GiB', 'MB', 'MiB', 'KB', 'KiB']) {
    const factor = factors[unit.toLowerCase()]!;
    if (value >= factor && value % factor === 0) return `${value / factor} ${unit}`;
  }
  return String(value);
}
