// Recently used repositories and refs, stored in this browser.

const kept = 8;

function storageKey(kind: string) {
  return `tarn.recent.${kind}`;
}

export function recent(kind: string): string[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(storageKey(kind)) ?? '[]');
    return Array.isArray(value) ? value.filter((item) => typeof item === 'string').slice(0, kept) : [];
  } catch {
    return [];
  }
}

export function remember(kind: string, name: string) {
  localStorage.setItem(
    storageKey(kind),
    JSON.stringify([name, ...recent(kind).filter((item) => item !== name)].slice(0, kept)),
  );
}

export function forget(kind: string, name: string) {
  localStorage.setItem(storageKey(kind), JSON.stringify(recent(kind).filter((item) => item !== name)));
}
