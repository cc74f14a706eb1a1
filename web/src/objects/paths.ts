// Keys as a tree: "a/b/c" is the object c in the folder "a/b/". Empty segments are folders too.

export interface Crumb {
  label: string;
  prefix: string;
}

/** The folders on the way to a prefix: "a/b/" has "a/" and "a/b/". */
export function crumbs(prefix: string): Crumb[] {
  const out: Crumb[] = [];
  let at = 0;
  for (;;) {
    const slash = prefix.indexOf('/', at);
    if (slash < 0) break;
    out.push({ label: prefix.slice(at, slash) || '(empty)', prefix: prefix.slice(0, slash + 1) });
    at = slash + 1;
  }
  if (at < prefix.length) out.push({ label: prefix.slice(at), prefix });
  return out;
}

/** The folder of a key, with its slash; "" at the top. */
export function folderOf(path: string): string {
  const withoutSlash = path.endsWith('/') ? path.slice(0, -1) : path;
  return path.slice(0, withoutSlash.lastIndexOf('/') + 1);
}

/** The last segment; that of a folder has its slash. */
export function nameOf(path: string): string {
  return path.slice(folderOf(path).length);
}

/** "png" of "a/b.PNG"; "" without one. */
export function extensionOf(path: string): string {
  const name = nameOf(path);
  const dot = name.lastIndexOf('.');
  return dot > 0 ? name.slice(dot + 1).toLowerCase() : '';
}

/** A path that a disk would have as it stands: no empty, "." or ".." segment, no backslash, no control character. */
export function isPlainPath(path: string): boolean {
  if (/[\\\u0000-\u001f\u007f]/.test(path)) return false;
  return path
    .replace(/\/$/, '')
    .split('/')
    .every((segment) => segment !== '' && segment !== '.' && segment !== '..');
}
