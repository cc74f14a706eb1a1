// Headers of files that hold arrays.

export interface NumpyHeader {
  dtype: string;
  shape: number[];
  fortran: boolean;
  dataAt: number;
}

/** Throws an Error that says what is wrong. */
export function parseNumpyHeader(bytes: Uint8Array): NumpyHeader {
  const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
  if (bytes.length < 12 || magic.some((byte, index) => bytes[index] !== byte))
    throw new Error('This is not a NumPy file.');
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const long = bytes[6]! >= 2;
  const length = long ? view.getUint32(8, true) : view.getUint16(8, true);
  const start = long ? 12 : 10;
  if (start + length > bytes.length) throw new Error('The header of this NumPy file is too long.');
  const text = new TextDecoder('latin1').decode(bytes.subarray(start, start + length));
  const descr = /'descr':\s*('([^']*)'|\[.*?\])\s*,/.exec(text);
  const shape = /'shape':\s*\(([^)]*)\)/.exec(text);
  const fortran = /'fortran_order':\s*(True|False)/.exec(text);
  if (!descr || !shape || !fortran) throw new Error('The header of this NumPy file cannot be read.');
  return {
    dtype: descr[2] ?? descr[1]!,
    shape: shape[1]!
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
      .map(Number),
    fortran: fortran[1] === 'True',
    dataAt: start + length,
  };
}

/** Of IEEE 754 with 16 bits, which not all browsers read. */
function half(bits: number): number {
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  const size =
    exponent === 0
      ? fraction * 2 ** -24
      : exponent === 31
        ? fraction === 0
          ? Infinity
          : NaN
        : (1024 + fraction) * 2 ** (exponent - 25);
  return bits & 0x8000 ? -size : size;
}

const readers: Record<string, [number, (view: DataView, at: number, little: boolean) => number | bigint]> = {
  f8: [8, (view, at, little) => view.getFloat64(at, little)],
  f4: [4, (view, at, little) => view.getFloat32(at, little)],
  f2: [2, (view, at, little) => half(view.getUint16(at, little))],
  i8: [8, (view, at, little) => view.getBigInt64(at, little)],
  i4: [4, (view, at, little) => view.getInt32(at, little)],
  i2: [2, (view, at, little) => view.getInt16(at, little)],
  i1: [1, (view, at) => view.getInt8(at)],
  u8: [8, (view, at, little) => view.getBigUint64(at, little)],
  u4: [4, (view, at, little) => view.getUint32(at, little)],
  u2: [2, (view, at, little) => view.getUint16(at, little)],
  u1: [1, (view, at) => view.getUint8(at)],
  b1: [1, (view, at) => view.getUint8(at)],
};

/** The first numbers of the data, in the order of the file; null for other element types. */
export function numpyValues(header: NumpyHeader, bytes: Uint8Array, most: number): (number | bigint)[] | null {
  const reader = readers[header.dtype.slice(1)];
  if (!reader) return null;
  const [size, read] = reader;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const total = header.shape.reduce((product, length) => product * length, 1);
  const out: (number | bigint)[] = [];
  for (let at = header.dataAt; out.length < Math.min(most, total) && at + size <= bytes.length; at += size)
    out.push(read(view, at, header.dtype[0] !== '>'));
  return out;
}

const typeNames: Record<string, string> = { f: 'float', i: 'int', u: 'uint', c: 'complex' };

/** "float32" of "<f4", "bool" of "|b1"; other types as they are. */
export function typeName(dtype: string): string {
  const [, kind, size] = /^[<>|=]([fiuc])(\d+)$/.exec(dtype) ?? [];
  if (kind) return `${typeNames[kind]}${8 * Number(size)}${dtype.startsWith('>') ? ', big-endian' : ''}`;
  return dtype === '|b1' ? 'bool' : dtype;
}

/** With the digits that its type has: a float32 as a double would show digits that were never stored. */
export function shownElement(value: number | bigint, dtype: string): string {
  if (dtype === '|b1') return value ? 'True' : 'False';
  const digits = dtype.endsWith('f4') ? 7 : dtype.endsWith('f2') ? 4 : undefined;
  return typeof value === 'bigint' || digits === undefined || !Number.isFinite(value)
    ? String(value)
    : String(Number(value.toPrecision(digits)));
}

export interface Tensor {
  name: string;
  dtype: string;
  shape: number[];
  bytes: number;
}

export interface SafetensorsHeader {
  tensors: Tensor[];
  metadata: [string, string][];
}

/** Length of the JSON that describes the tensors. */
export function safetensorsHeaderLength(bytes: Uint8Array): number {
  if (bytes.length < 8) throw new Error('This is not a safetensors file.');
  const length = new DataView(bytes.buffer, bytes.byteOffset, 8).getBigUint64(0, true);
  if (length > 100_000_000n) throw new Error('This is not a safetensors file, or its header is longer than 100 MB.');
  return Number(length);
}

export function parseSafetensorsHeader(json: string): SafetensorsHeader {
  const parsed: unknown = JSON.parse(json);
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new Error('The header of this safetensors file cannot be read.');
  const out: SafetensorsHeader = { tensors: [], metadata: [] };
  for (const [name, value] of Object.entries(parsed as Record<string, unknown>)) {
    if (name === '__metadata__') {
      out.metadata = Object.entries((value ?? {}) as Record<string, unknown>).map(([key, item]) => [key, String(item)]);
      continue;
    }
    const {
      dtype,
      shape,
      data_offsets: offsets,
    } = (value ?? {}) as { dtype?: unknown; shape?: unknown; data_offsets?: unknown };
    if (typeof dtype !== 'string' || !Array.isArray(shape) || !Array.isArray(offsets))
      throw new Error(`The entry ${name} of this safetensors file cannot be read.`);
    out.tensors.push({ name, dtype, shape: shape.map(Number), bytes: Number(offsets[1]) - Number(offsets[0]) });
  }
  return out;
}
