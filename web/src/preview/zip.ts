// The directory of a ZIP archive, and the beginning of its files, by ranges of bytes.
// Not by a library: of an array of 40 MB zip.js reads 1.8 MB to show its first 4 KB, for 21 KB of compressed script instead of one, and
// fflate wants the whole archive.

export interface ZipFile {
  name: string;
  /** Of the whole file. */
  bytes: number;
  storedBytes: number;
  method: number;
  /** Where its own header begins. */
  at: number;
}

/** Bytes [from, to) of the archive, fewer at its end. */
export type ReadRange = (from: number, to: number) => Promise<Uint8Array<ArrayBuffer>>;

const stored = 0;
const deflated = 8;
const endBytes = 22;
const commentMax = 65_535;
const locatorBytes = 20;
const end64Bytes = 56;
const directoryMax = 16 * 1024 * 1024;
const fileHeaderBytes = 30;
const all32 = 0xffffffff;

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Throws an Error that says what is wrong. */
export async function readZipDirectory(size: number, read: ReadRange): Promise<ZipFile[]> {
  const tailAt = Math.max(0, size - endBytes - commentMax);
  const tail = await read(tailAt, size);
  const view = viewOf(tail);
  let end = tail.length - endBytes;
  while (
    end >= 0 &&
    !(view.getUint32(end, true) === 0x06054b50 && end + endBytes + view.getUint16(end + 20, true) === tail.length)
  )
    --end;
  if (end < 0) throw new Error('This is not a ZIP archive, or its end is missing.');
  let length = view.getUint32(end + 12, true);
  let at = view.getUint32(end + 16, true);
  if (at === all32 || length === all32 || view.getUint16(end + 10, true) === 0xffff) {
    if (end < locatorBytes || view.getUint32(end - locatorBytes, true) !== 0x07064b50)
      throw new Error('The end of this ZIP archive cannot be read.');
    const end64 = viewOf(await readAll(read, Number(view.getBigUint64(end - locatorBytes + 8, true)), end64Bytes));
    if (end64.getUint32(0, true) !== 0x06064b50) throw new Error('The end of this ZIP archive cannot be read.');
    length = Number(end64.getBigUint64(40, true));
    at = Number(end64.getBigUint64(48, true));
  }
  if (length > directoryMax) throw new Error('The directory of this ZIP archive is longer than 16 MB.');
  return parseDirectory(await readAll(read, at, length));
}

async function readAll(read: ReadRange, at: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await read(at, at + length);
  if (bytes.length < length) throw new Error('This ZIP archive refers to what is behind its end.');
  return bytes;
}

function parseDirectory(bytes: Uint8Array): ZipFile[] {
  const view = viewOf(bytes);
  const out: ZipFile[] = [];
  for (let at = 0; at < bytes.length;) {
    const nameAt = at + 46;
    if (nameAt > bytes.length || view.getUint32(at, true) !== 0x02014b50)
      throw new Error('The directory of this ZIP archive cannot be read.');
    const extraAt = nameAt + view.getUint16(at + 28, true);
    const next = extraAt + view.getUint16(at + 30, true) + view.getUint16(at + 32, true);
    if (next > bytes.length) throw new Error('The directory of this ZIP archive cannot be read.');
    const file = {
      name: new TextDecoder().decode(bytes.subarray(nameAt, extraAt)),
      method: view.getUint16(at + 10, true),
      storedBytes: view.getUint32(at + 20, true),
      bytes: view.getUint32(at + 24, true),
      at: view.getUint32(at + 42, true),
    };
    takeLongSizes(file, bytes.subarray(extraAt, extraAt + view.getUint16(at + 30, true)));
    out.push(file);
    at = next;
  }
  return out;
}

/** The extra field of ZIP64 has those sizes that do not fit, in this order. */
function takeLongSizes(file: ZipFile, extra: Uint8Array) {
  const view = viewOf(extra);
  for (let at = 0; at + 4 <= extra.length; at += 4 + view.getUint16(at + 2, true)) {
    if (view.getUint16(at, true) !== 1) continue;
    let value = at + 4;
    for (const field of ['bytes', 'storedBytes', 'at'] as const) {
      if (file[field] !== all32) continue;
      if (value + 8 > extra.length) throw new Error('The directory of this ZIP archive cannot be read.');
      file[field] = Number(view.getBigUint64(value, true));
      value += 8;
    }
  }
}

/** The first bytes of a file, at most `most`; of a compressed one maybe fewer. */
export async function readZipFile(file: ZipFile, most: number, read: ReadRange): Promise<Uint8Array<ArrayBuffer>> {
  if (file.method !== stored && file.method !== deflated)
    throw new Error(`The compression ${file.method} of ${file.name} is not known.`);
  // The name and the extra field of this header may be longer than those of the directory.
  const header = viewOf(await readAll(read, file.at, fileHeaderBytes));
  if (header.getUint32(0, true) !== 0x04034b50) throw new Error(`The header of ${file.name} cannot be read.`);
  const dataAt = file.at + fileHeaderBytes + header.getUint16(26, true) + header.getUint16(28, true);
  const bytes = await read(dataAt, dataAt + Math.min(most, file.storedBytes));
  return file.method === stored ? bytes : inflateStart(bytes, most);
}

/** The first piece of a deflated file whose end is missing. Later pieces are not read: the stream fails where the bytes end. */
async function inflateStart(bytes: Uint8Array<ArrayBuffer>, most: number): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new DecompressionStream('deflate-raw');
  const reader = stream.readable.getReader();
  const first = reader.read();
  const writer = stream.writable.getWriter();
  writer
    .write(bytes)
    .then(() => writer.close())
    .catch(() => undefined);
  const { value } = await first;
  reader.cancel().catch(() => undefined);
  return (value ?? new Uint8Array()).slice(0, most);
}
