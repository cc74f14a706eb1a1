// The frame format of LZ4, as Arrow and Feather have it; blocks depend on each other or not, checksums are not verified.
const magic = 0x184d2204;
const outputMax = 1 << 30;

export function decompressLz4Frame(data: Uint8Array): Uint8Array {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  if (data.length < 7 || view.getUint32(0, true) !== magic) throw new Error('not an LZ4 frame');
  const flags = data[4]!;
  const hasSize = (flags & 0x08) !== 0;
  let at = 6 + (hasSize ? 8 : 0) + (flags & 0x01 ? 4 : 0) + 1;
  let out = new Uint8Array(hasSize ? Math.min(outputMax, Number(view.getBigUint64(6, true))) : data.length * 4);
  let length = 0;
  const room = (more: number) => {
    if (length + more > outputMax) throw new Error('LZ4 data of more than 1 GiB');
    if (length + more <= out.length) return;
    const larger = new Uint8Array(Math.min(outputMax, Math.max(length + more, out.length * 2)));
    larger.set(out.subarray(0, length));
    out = larger;
  };
  for (;;) {
    const word = view.getUint32(at, true);
    at += 4;
    if (word === 0) break;
    const size = word & 0x7fffffff;
    if (at + size > data.length) throw new Error('an LZ4 block is cut');
    if (word & 0x80000000) {
      room(size);
      out.set(data.subarray(at, at + size), length);
      length += size;
    } else {
      let from = at;
      const end = at + size;
      const lengthOf = (first: number) => {
        let total = first;
        if (first === 15) for (let byte = 255; byte === 255; total += byte) byte = data[from++]!;
        return total;
      };
      while (from < end) {
        const token = data[from++]!;
        const literals = lengthOf(token >> 4);
        room(literals);
        out.set(data.subarray(from, from + literals), length);
        length += literals;
        from += literals;
        if (from >= end) break;
        const offset = data[from]! | (data[from + 1]! << 8);
        from += 2;
        if (offset === 0 || offset > length) throw new Error('an LZ4 block refers to nothing');
        const match = lengthOf(token & 15) + 4;
        room(match);
        if (offset >= match) out.copyWithin(length, length - offset, length - offset + match);
        else for (let index = 0; index < match; ++index) out[length + index] = out[length + index - offset]!;
        length += match;
      }
    }
    at += size + (flags & 0x10 ? 4 : 0);
  }
  return out.subarray(0, length);
}
