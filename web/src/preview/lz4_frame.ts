// The frame format of LZ4, as Arrow and Feather have it: blocks that refer to each other or not. Every number in it is
// untrusted: nothing is allocated but `length`, which the caller limits, and nothing is read outside the data or its block.
// Checksums are not verified.
const magic = 0x184d2204;
const headBytesMin = 7;
const flag = { dictionary: 0x01, contentSize: 0x08, blockChecksum: 0x10 };
const matchMin = 4;

function damaged(how: string): never {
  throw new Error(`the LZ4 data is damaged: ${how}`);
}

/** Writes what a block holds from `start` on, at most to `end`, and returns where it ends. */
function decompressBlock(input: Uint8Array, out: Uint8Array, start: number, end: number): number {
  let at = 0;
  let to = start;
  const lengthOf = (first: number) => {
    let total = first;
    for (let byte = first === 15 ? 255 : 0; byte === 255; total += byte)
      byte = input[at++] ?? damaged('a block is cut');
    return total;
  };
  for (;;) {
    const token = input[at++] ?? damaged('a block is cut');
    const literals = lengthOf(token >> 4);
    if (to + literals > end) damaged('it is longer than it says');
    out.set(input.subarray(at, at + literals), to);
    to += literals;
    at += literals;
    if (at === input.length) return to;
    // Also where literals are longer than the block.
    if (at + 2 > input.length) damaged('a block is cut');
    const offset = input[at]! | (input[at + 1]! << 8);
    at += 2;
    if (offset === 0 || offset > to) damaged('a block refers to nothing');
    const match = lengthOf(token & 15) + matchMin;
    // A match may overlap its own output, so each round copies twice as much as the one before. copyWithin writes nothing
    // beyond the array; the literals after such a match are then refused.
    for (let done = 0, part; done < match; done += part) {
      part = Math.min(offset + done, match - done);
      out.copyWithin(to + done, to - offset, to - offset + part);
    }
    to += match;
  }
}

/** The content of a frame, which has `length` bytes; throws if it has more or fewer. */
export function decompressLz4Frame(data: Uint8Array, length: number): Uint8Array {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  if (data.length < headBytesMin || view.getUint32(0, true) !== magic) damaged('it is not an LZ4 frame');
  const flags = data[4]!;
  if (flags >> 6 !== 1) damaged('its version is unknown');
  if (flags & flag.dictionary) throw new Error('the LZ4 data needs a dictionary');
  const sizeCode = (data[5]! >> 4) & 7;
  if (sizeCode < 4) damaged('its block size is unknown');
  const blockBytesMax = 1 << (8 + 2 * sizeCode);
  const out = new Uint8Array(length);
  let written = 0;
  for (let at = headBytesMin + (flags & flag.contentSize ? 8 : 0); ;) {
    if (at + 4 > data.length) damaged('it has no end');
    const word = view.getUint32(at, true);
    at += 4;
    if (word === 0) break;
    const size = word & 0x7fffffff;
    if (size > blockBytesMax) damaged('a block is larger than it says');
    if (at + size > data.length) damaged('a block is cut');
    const block = data.subarray(at, at + size);
    const end = Math.min(length, written + blockBytesMax);
    if (word !== size) {
      if (written + size > end) damaged('it is longer than it says');
      out.set(block, written);
      written += size;
    } else {
      written = decompressBlock(block, out, written, end);
    }
    at += size + (flags & flag.blockChecksum ? 4 : 0);
  }
  if (written !== length) damaged('it is shorter than it says');
  return out;
}
