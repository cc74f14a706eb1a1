import { CompressionType, setCompressionCodec, tableFromIPC, tableToIPC, Type } from '@uwdata/flechette';
import { decompress } from 'fzstd';
import { decompressLz4Frame } from './lz4_frame';

/** Of all buffers of a file together: a few kilobytes may say that they become terabytes. */
export const decompressedBytesMax = 512 * 1024 * 1024;

let decompressedBytesLeft = 0;

function codec(decode: (data: Uint8Array, length: number) => Uint8Array) {
  return {
    encode: () => {
      throw new Error('not written here');
    },
    decode: (data: Uint8Array, length: number) => {
      if (!(length >= 0 && length <= decompressedBytesLeft))
        throw new Error(`it is larger than ${decompressedBytesMax >> 20} MiB without its compression`);
      decompressedBytesLeft -= length;
      return decode(data, length);
    },
  };
}

// Into an array of the right length: fzstd would believe any size of a window, and write what is too long nowhere.
setCompressionCodec(
  CompressionType.ZSTD,
  codec((data, length) => decompress(data, new Uint8Array(length))),
);
setCompressionCodec(CompressionType.LZ4_FRAME, codec(decompressLz4Frame));

const typeNames = new Map(Object.entries(Type).map(([name, id]) => [id as number, name.toLowerCase()]));

/** The schema and the first rows. */
export function readArrow(content: Uint8Array<ArrayBuffer>, rowsMax: number) {
  decompressedBytesLeft = decompressedBytesMax;
  const table = tableFromIPC(content, { useDate: true, useBigInt: true });
  const names = table.schema.fields.map((field) => field.name);
  const columns = names.map((_, index) => table.getChildAt(index));
  const count = table.numRows;
  const rows = Array.from({ length: Math.min(count, rowsMax) }, (_, row) =>
    columns.map((column) => column.at(row) as unknown),
  );
  return {
    names,
    types: table.schema.fields.map((field) => typeNames.get(field.type.typeId) ?? String(field.type.typeId)),
    rows,
    count,
  };
}

/** The same table as a stream without compression. */
export function streamOf(content: Uint8Array<ArrayBuffer>): Uint8Array {
  decompressedBytesLeft = decompressedBytesMax;
  const stream = tableToIPC(tableFromIPC(content), { format: 'stream' });
  if (!stream) throw new Error('it has no columns.');
  return stream;
}
