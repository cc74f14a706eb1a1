import { deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type ReadRange, readZipDirectory, readZipFile } from './zip';

interface Given {
  name: string;
  data: Uint8Array;
  deflated?: boolean;
}

const u16 = (value: number) => [value & 255, value >> 8];
const u32 = (value: number) => [...u16(value & 0xffff), ...u16(value >>> 16)];
const u64 = (value: number) => [...u32(value), 0, 0, 0, 0];
const text = (value: string) => [...new TextEncoder().encode(value)];

/** An archive as NumPy writes it: the header of each file has an extra field that the directory lacks. */
function zip(files: Given[], { zip64 = false, comment = '' } = {}): Uint8Array<ArrayBuffer> {
  const out: number[] = [];
  const directory: number[] = [];
  for (const { name, data, deflated } of files) {
    const stored = deflated ? deflateRawSync(data) : data;
    const method = u16(deflated ? 8 : 0);
    const extra = zip64 ? [...u16(1), ...u16(24), ...u64(data.length), ...u64(stored.length), ...u64(out.length)] : [];
    const sizes = zip64 ? [...u32(0xffffffff), ...u32(0xffffffff)] : [...u32(stored.length), ...u32(data.length)];
    directory.push(
      ...u32(0x02014b50),
      0,
      0,
      0,
      0,
      0,
      0,
      ...method,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      ...sizes,
      ...u16(text(name).length),
      ...u16(extra.length),
      ...u16(0),
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      ...u32(zip64 ? 0xffffffff : out.length),
      ...text(name),
      ...extra,
    );
    out.push(
      ...u32(0x04034b50),
      0,
      0,
      0,
      0,
      ...method,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      0,
      ...u32(0),
      ...u32(0),
      ...u16(text(name).length),
      ...u16(4),
      ...text(name),
      9,
      9,
      0,
      0,
    );
    for (const byte of stored) out.push(byte);
  }
  const at = out.length;
  out.push(...directory);
  if (zip64) {
    const end = out.length;
    out.push(
      ...u32(0x06064b50),
      ...u64(44),
      ...u16(45),
      ...u16(45),
      ...u32(0),
      ...u32(0),
      ...u64(files.length),
      ...u64(files.length),
      ...u64(directory.length),
      ...u64(at),
    );
    out.push(...u32(0x07064b50), ...u32(0), ...u64(end), ...u32(1));
  }
  const [length, place] = zip64 ? [0xffffffff, 0xffffffff] : [directory.length, at];
  out.push(
    ...u32(0x06054b50),
    0,
    0,
    0,
    0,
    ...u16(files.length),
    ...u16(files.length),
    ...u32(length),
    ...u32(place),
    ...u16(comment.length),
    ...text(comment),
  );
  return Uint8Array.from(out);
}

const reader =
  (bytes: Uint8Array<ArrayBuffer>): ReadRange =>
  (from, to) =>
    Promise.resolve(bytes.slice(from, to));
const noise = Uint8Array.from({ length: 100_000 }, (_, index) => (index * 2654435761) >>> 13);
const files: Given[] = [
  { name: 'a.npy', data: Uint8Array.of(1, 2, 3) },
  { name: 'größe.npy', data: noise, deflated: true },
];

describe('a ZIP archive', () => {
  for (const options of [{}, { zip64: true }, { comment: 'a comment that ends it' }]) {
    it(`lists its files and begins them: ${JSON.stringify(options)}`, async () => {
      const bytes = zip(files, options);
      const found = await readZipDirectory(bytes.length, reader(bytes));
      expect(found.map((file) => [file.name, file.bytes])).toEqual([
        ['a.npy', 3],
        ['größe.npy', 100_000],
      ]);
      expect(await readZipFile(found[0]!, 100, reader(bytes))).toEqual(Uint8Array.of(1, 2, 3));
      // A beginning of the compressed bytes is enough.
      const began = await readZipFile(found[1]!, 4096, reader(bytes));
      expect(began.length).toBeGreaterThan(200);
      expect(began).toEqual(noise.slice(0, began.length));
    });
  }
  it('is refused wherever it is cut', async () => {
    const bytes = zip(files.slice(0, 1));
    for (let size = 0; size < bytes.length; ++size) {
      await expect(readZipDirectory(size, reader(bytes.slice(0, size)))).rejects.toThrow(/ZIP archive/);
    }
  });
  it('never makes more than an error of changed bytes', async () => {
    const bytes = zip(
      files.map((file) => ({ ...file, data: file.data.slice(0, 50) })),
      { zip64: true },
    );
    for (let at = 0; at < bytes.length; ++at) {
      const changed = bytes.slice();
      changed[at]! ^= 0xff;
      try {
        for (const file of await readZipDirectory(changed.length, reader(changed)))
          await readZipFile(file, 4096, reader(changed));
      } catch (error) {
        expect(error).toBeInstanceOf(Error);
      }
    }
  });
});
