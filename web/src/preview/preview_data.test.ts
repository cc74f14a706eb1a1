import { describe, expect, it } from 'vitest';
import {
  numpyValues,
  parseNumpyHeader,
  parseSafetensorsHeader,
  safetensorsHeaderLength,
  shownElement,
  typeName,
} from './arrays';
import { delimiterOf, parseCsv } from './csv';
import { imageTypeOf, kindOf } from './kinds';
import { decodeText, isPlainText } from './object_bytes';
import { frontMatterPairs } from './front_matter';
import { cellText } from './table_view';

describe('kinds', () => {
  it('go by extension, then by type', () => {
    expect(kindOf('a/b.PNG', 'text/html')).toBe('image');
    expect(kindOf('page', 'text/html; charset=utf-8')).toBe('html');
    expect(kindOf('x', 'application/octet-stream')).toBe('none');
    expect(kindOf('.gitignore', undefined)).toBe('none');
    expect(imageTypeOf('a.jpg', 'application/octet-stream')).toBe('image/jpeg');
  });
});

describe('CSV', () => {
  it('has quotes, doubled quotes, line ends of both kinds and empty fields', () => {
    expect(parseCsv('a,b\r\n"x,1","say ""hi""\nthere"\n,\n', ',', 100)).toEqual([
      ['a', 'b'],
      ['x,1', 'say "hi"\nthere'],
      ['', ''],
    ]);
    expect(parseCsv('a\tb', '\t', 100)).toEqual([['a', 'b']]);
    expect(parseCsv('"never closed, ', ',', 100)).toEqual([['never closed, ']]);
    expect(parseCsv('', ',', 100)).toEqual([]);
    expect(parseCsv('1\n2\n3', ',', 2)).toEqual([['1'], ['2']]);
  });
  it('has the delimiter of its first line', () => {
    expect([
      delimiterOf('a;b;c\n1,2', 'x.csv'),
      delimiterOf('a', 'x.csv'),
      delimiterOf('a,b', 'x.tsv'),
      delimiterOf('a\tb', 'x.csv'),
    ]).toEqual([';', ',', '\t', '\t']);
  });
});

describe('text', () => {
  it('is told from bytes, and a split character is left out', () => {
    const bytes = new TextEncoder().encode('grün');
    expect(decodeText(bytes, false)).toBe('grün');
    expect(decodeText(bytes.subarray(0, 3), true)).toBe('gr');
    expect(decodeText(new Uint8Array([1, 0, 2]), false)).toBeNull();
    expect(decodeText(new Uint8Array([0xff, 0xfe, 0xfd]), false)).toBeNull();
    expect(decodeText(new Uint8Array(), false)).toBe('');
  });
  it('of an unknown kind is UTF-8 without control characters', () => {
    const bytes = new TextEncoder().encode('all:\n\techo grün\r\n');
    expect(isPlainText(bytes, false)).toBe(true);
    expect(isPlainText(bytes.subarray(0, 14), true)).toBe(true);
    expect(isPlainText(bytes.subarray(0, 14), false)).toBe(false);
    for (const other of [
      [0x41, 0],
      [0x80, 0x04, 0x95],
      [0x7f, 0x45, 0x4c, 0x46],
      [0x1f, 0x8b],
    ])
      expect(isPlainText(new Uint8Array(other), false)).toBe(false);
  });
});

function npy(header: string, data: Uint8Array): Uint8Array {
  const text = new TextEncoder().encode(header);
  return new Uint8Array([
    0x93,
    0x4e,
    0x55,
    0x4d,
    0x50,
    0x59,
    1,
    0,
    text.length & 255,
    text.length >> 8,
    ...text,
    ...data,
  ]);
}

describe('NumPy files', () => {
  it('have a type, a shape and values', () => {
    const file = npy(
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n",
      new Uint8Array(new Float32Array([1, 2.5, 3, 4, 5, 6]).buffer),
    );
    const header = parseNumpyHeader(file);
    expect(header).toMatchObject({ dtype: '<f4', shape: [2, 3], fortran: false });
    expect(numpyValues(header, file, 4)).toEqual([1, 2.5, 3, 4]);
    expect(numpyValues({ ...header, dtype: '|O' }, file, 4)).toBeNull();
    const halves = new Uint8Array(new Uint16Array([0x3c00, 0xc100, 0x0001, 0x7c00]).buffer);
    expect(numpyValues({ dtype: '<f2', shape: [4], fortran: false, dataAt: 0 }, halves, 4)).toEqual([
      1,
      -2.5,
      2 ** -24,
      Infinity,
    ]);
  });
  it('have types and values that people know', () => {
    expect(['<f4', '>i8', '|u1', '|b1', "[('a', '<i4')]"].map(typeName)).toEqual([
      'float32',
      'int64, big-endian',
      'uint8',
      'bool',
      "[('a', '<i4')]",
    ]);
    expect([
      shownElement(0.10000000149011612, '<f4'),
      shownElement(0.1, '<f8'),
      shownElement(1, '|b1'),
      shownElement(7n, '<i8'),
    ]).toEqual(['0.1', '0.1', 'True', '7']);
  });
  it('are refused when they are not', () => {
    for (const file of [
      new Uint8Array(),
      npy('{}', new Uint8Array()),
      npy("{'descr': '<f4'", new Uint8Array()).subarray(0, 12),
    ])
      expect(() => parseNumpyHeader(file)).toThrow(/NumPy/);
  });
});

describe('safetensors files', () => {
  it('have tensors and metadata', () => {
    expect(safetensorsHeaderLength(new Uint8Array([16, 1, 0, 0, 0, 0, 0, 0]))).toBe(272);
    expect(
      parseSafetensorsHeader(
        '{"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}',
      ),
    ).toEqual({
      tensors: [{ name: 'w', dtype: 'F32', shape: [2, 2], bytes: 16 }],
      metadata: [['format', 'pt']],
    });
  });
  it('are refused when they are not', () => {
    expect(() => safetensorsHeaderLength(new Uint8Array(8).fill(255))).toThrow(/safetensors/);
    expect(() => safetensorsHeaderLength(new Uint8Array(3))).toThrow(/safetensors/);
    expect(() => parseSafetensorsHeader('[]')).toThrow(/safetensors/);
    expect(() => parseSafetensorsHeader('{"w":null}')).toThrow(/entry w/);
  });
});

describe('cells of tables', () => {
  it('are text, and lists of integers have numbers', () => {
    expect([
      cellText([1n, 2n]),
      cellText({ big: 12345678901234567890n }),
      cellText(null),
      cellText(new Date(0)),
    ]).toEqual(['[1,2]', '{"big":"12345678901234567890"}', 'null', '1970-01-01T00:00:00.000Z']);
  });
});

describe('front matter of model cards', () => {
  it('becomes pairs', () => {
    expect(frontMatterPairs({ license: 'mit', tags: ['a', 'b'], results: [{ accuracy: 0.98 }], none: null })).toEqual([
      ['license', 'mit'],
      ['tags', 'a, b'],
      ['results', '[{"accuracy":0.98}]'],
      ['none', ''],
    ]);
    expect([frontMatterPairs('text'), frontMatterPairs(['a']), frontMatterPairs(null)]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});
