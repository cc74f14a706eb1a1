import { CompressionType, setCompressionCodec, tableFromIPC, Type } from '@uwdata/flechette';
import { decompress } from 'fzstd';
import { decompressLz4Frame } from './lz4_frame';

// Copied, since columns of 64 bits have to begin at a multiple of 8.
setCompressionCodec(CompressionType.ZSTD, { encode: () => { throw new Error('not written here'); }, decode: (data) => decompress(data).slice() });
setCompressionCodec(CompressionType.LZ4_FRAME, { encode: () => { throw new Error('not written here'); }, decode: decompressLz4Frame });

const typeNames = new Map(Object.entries(Type).map(([name, id]) => [id as number, name.toLowerCase()]));

/** The schema and the first rows. */
export function readArrow(content: Uint8Array<ArrayBuffer>, rowsMax: number) {
  const table = tableFromIPC(content, { useDate: true });
  const names = table.schema.fields.map((field) => field.name);
  const columns = names.map((_, index) => table.getChildAt(index));
  const count = table.numRows;
  const rows = Array.from({ length: Math.min(count, rowsMax) }, (_, row) => columns.map((column) => column.at(row) as unknown));
  return { names, types: table.schema.fields.map((field) => typeNames.get(field.type.typeId) ?? String(field.type.typeId)), rows, count };
}
