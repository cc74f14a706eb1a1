import { describe, expect, it } from 'vitest';
import { decompressLz4Frame } from './lz4_frame';

const frame = (...blocks: number[][]) => {
  const bytes = [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82];
  for (const block of blocks) bytes.push(block.length, 0, 0, 0, ...block);
  return new Uint8Array([...bytes, 0, 0, 0, 0]);
};
const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

describe('LZ4 frames', () => {
  it('repeat what was there', () => {
    // "ab", 6 bytes from 2 before, then "!" as the last literals
    expect(text(decompressLz4Frame(frame([0x22, 97, 98, 2, 0, 0x10, 33])))).toBe('abababab!');
  });
  it.each([[[0x12, 97, 9, 0]], [[0x02, 0, 0]]])('refuse to refer to nothing: %j', (block) => {
    expect(() => decompressLz4Frame(frame(block))).toThrow('refers to nothing');
  });
  it('refuse what is cut or something else', () => {
    expect(() => decompressLz4Frame(new Uint8Array(20))).toThrow('not an LZ4 frame');
    expect(() => decompressLz4Frame(frame([1, 2, 3]).subarray(0, 10))).toThrow();
  });
});
