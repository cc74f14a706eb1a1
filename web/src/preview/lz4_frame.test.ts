import { describe, expect, it } from 'vitest';
import { decompressLz4Frame } from './lz4_frame';

// As liblz4 writes the 200,000 bytes n * n % 251: four blocks of at most 64 KB, which refer to those before them.
const squares = fromHex(
  [
    '04224d184040c005020000ffec00010409101924314051647990a9c4e10526496e95bee91b4a7baee31f5893d0145598dd2972bd0f5eaf075cb3116c',
    'c92d8ef15bc2309b0d7ced65da56cf4fcc50d159de6af38315a43acd67039c3cd97d23c6701cc57527d68c44f9b57333f0b47a420cd3a1714317e8c0',
    '9a76543416f5dbc3ad998777695d534b45413f3f41454b535d69778799adc3dbf5163454769ac0e8174371a1d30c427ab4f03373b5f9448cd62775c5',
    '1c70c6237dd93c9c0367cd3aa41583f36ade59d150cc4fcf56da65ed7c0d9b30c25bf18e2dc96c11b35c07af5e0fbd7229dd985514d093581fe3ae7b',
    '4a1be9be956e492605e1c4a9907964514031241910090401fb00',
    'ff'.repeat(255),
    'ec5095bee91b4a0a0100000fe7',
    'ff'.repeat(257),
    'e850116cc92d8e0a0100000ffb00',
    'ff'.repeat(256),
    'e8508315a43acd170000000fe7',
    'ff'.repeat(14),
    '3550c25bf18e2d00000000',
  ].join(''),
);
const squaresLength = 200_000;

function fromHex(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g)!, (byte) => parseInt(byte, 16));
}

function word(value: number): number[] {
  return [value & 255, (value >> 8) & 255, (value >> 16) & 255, (value >>> 24) & 255];
}

function frame(...blocks: number[][]): Uint8Array {
  return new Uint8Array([
    0x04,
    0x22,
    0x4d,
    0x18,
    0x60,
    0x40,
    0x82,
    ...blocks.flatMap((block) => [...word(block.length), ...block]),
    0,
    0,
    0,
    0,
  ]);
}

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
// "ab", 6 bytes from 2 before, then "!" as the last literals
const repeated = [0x22, 97, 98, 2, 0, 0x10, 33];

/** Numbers that look random and are the same in each run. */
function* pseudoRandom(seed: number): Generator<number> {
  for (let state = seed; ;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state >>> 8;
  }
}

describe('LZ4 frames', () => {
  it('repeat what was there', () => {
    expect(text(decompressLz4Frame(frame(repeated), 9))).toBe('abababab!');
    // The second block refers to the first one.
    expect(text(decompressLz4Frame(frame([0x20, 97, 98], [0x02, 2, 0, 0x10, 33]), 9))).toBe('abababab!');
  });
  it('hold blocks as they are, sizes and checksums', () => {
    const bytes = [
      0x04,
      0x22,
      0x4d,
      0x18,
      0x58,
      0x40,
      ...word(3),
      ...word(0),
      0,
      ...word(0x80000003),
      97,
      98,
      99,
      ...word(0),
      ...word(0),
    ];
    expect(text(decompressLz4Frame(new Uint8Array(bytes), 3))).toBe('abc');
    expect(decompressLz4Frame(frame(), 0)).toHaveLength(0);
  });
  it('of liblz4 are read', () => {
    const out = decompressLz4Frame(squares, squaresLength);
    expect(out.every((byte, n) => byte === (n * n) % 251)).toBe(true);
  });
});

// Hundreds of megabytes are written below.
describe('Hostile LZ4 frames', { timeout: 30_000 }, () => {
  it.each([[[0x12, 97, 9, 0]], [[0x02, 0, 0]], [[0x02, 1, 0]]])('refer to nothing: %j', (block) => {
    expect(() => decompressLz4Frame(frame(block), 100)).toThrow('refers to nothing');
  });
  it.each([
    ['literals', [0xf0, 255, 255]],
    ['literals that the block lacks', [0x50, 97]],
    ['an offset', [0x10, 97, 1]],
    ['the length of a match', [0x1f, 97, 1, 0, 255]],
    ['the last literals', [0x10, 97, 1, 0]],
  ])('are cut: %s', (_, block) => {
    // The bytes after the block belong to the next one.
    expect(() => decompressLz4Frame(frame(block, repeated), 1000)).toThrow('a block is cut');
  });
  it('are longer or shorter than they say', () => {
    expect(() => decompressLz4Frame(frame(repeated), 8)).toThrow('longer than it says');
    expect(() => decompressLz4Frame(frame(repeated), 7)).toThrow('longer than it says');
    expect(() => decompressLz4Frame(frame(repeated), 10)).toThrow('shorter than it says');
    expect(() =>
      decompressLz4Frame(
        new Uint8Array([0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, ...word(0x80000003), 97, 98, 99, ...word(0)]),
        2,
      ),
    ).toThrow('longer than it says');
  });
  it('have a block that becomes larger than blocks may be', () => {
    // One byte, a thousand times 255 more of it: a frame of 1 KB that says that it has 64 MB.
    const bomb = [0x1f, 97, 1, 0, ...new Array<number>(1000).fill(255), 0, 0x10, 97];
    expect(() => decompressLz4Frame(frame(bomb), 64 * 1024 * 1024)).toThrow('longer than it says');
    const exact = [...bomb.slice(0, -2), 0x00];
    expect(() => decompressLz4Frame(frame(exact), 1 + 15 + 255 * 1000 + 4)).toThrow('longer than it says');
  });
  it('announce a size that is not theirs', () => {
    const bytes = [
      0x04,
      0x22,
      0x4d,
      0x18,
      0x68,
      0x40,
      ...word(0xffffffff),
      ...word(0x7fffffff),
      0,
      ...word(repeated.length),
      ...repeated,
      ...word(0),
    ];
    expect(text(decompressLz4Frame(new Uint8Array(bytes), 9))).toBe('abababab!');
  });
  it.each([
    ['nothing', [], 'not an LZ4 frame'],
    ['another format', new Array<number>(20).fill(0), 'not an LZ4 frame'],
    ['a later version', [0x04, 0x22, 0x4d, 0x18, 0xa0, 0x40, 0x82, 0, 0, 0, 0], 'version is unknown'],
    ['a dictionary', [0x04, 0x22, 0x4d, 0x18, 0x61, 0x40, 1, 0, 0, 0, 0x82, 0, 0, 0, 0], 'needs a dictionary'],
    ['tiny blocks', [0x04, 0x22, 0x4d, 0x18, 0x60, 0x00, 0x82, 0, 0, 0, 0], 'block size is unknown'],
    ['a block larger than said', [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, ...word(65_537)], 'a block is larger'],
    ['a block of 2 GB', [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, ...word(0x7fffffff)], 'a block is larger'],
    ['no end', [0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, 0, 0], 'it has no end'],
  ])('have %s', (_, bytes, why) => {
    expect(() => decompressLz4Frame(new Uint8Array(bytes), 0)).toThrow(why);
  });
  it('are refused wherever they are cut', () => {
    for (let length = 0; length < squares.length; ++length) {
      expect(() => decompressLz4Frame(squares.subarray(0, length), squaresLength), String(length)).toThrow(
        /^the LZ4 data /,
      );
    }
  });
  it('with any bytes changed are refused or have their length', () => {
    const random = pseudoRandom(18);
    const next = (below: number) => random.next().value! % below;
    let refused = 0;
    for (let round = 0; round < 1000; ++round) {
      const bytes = squares.slice();
      for (let change = 0; change <= round % 4; ++change) bytes[next(bytes.length)] = next(256);
      try {
        expect(decompressLz4Frame(bytes, squaresLength)).toHaveLength(squaresLength);
      } catch (error) {
        expect((error as Error).message).toMatch(/^the LZ4 data /);
        ++refused;
      }
    }
    expect(refused).toBeGreaterThan(350);
  });
});
