import { type IFD, decode, decodeImage, toRGBA8 } from 'utif2';

export const tiffBytesMax = 32 * 1024 * 1024;
/** Of one page, before it is unpacked: 100 MB of memory. */
const pixelsMax = 25_000_000;
const pagesMax = 1000;

function numberOf(page: IFD, tag: string): number {
  const value = page[tag];
  return Array.isArray(value) ? Number(value[0]) : Number.NaN;
}

/** The pages that have an image. */
export function decodeTiff(content: ArrayBuffer): IFD[] {
  const pages = decode(content).filter((page) => numberOf(page, 't256') > 0 && numberOf(page, 't257') > 0);
  if (pages.length === 0) throw new Error('it holds no image that can be read.');
  return pages.slice(0, pagesMax);
}

export function pixelsOf(
  content: ArrayBuffer,
  pages: readonly IFD[],
  index: number,
): { width: number; height: number; rgba: Uint8ClampedArray<ArrayBuffer> } {
  const page = pages[index]!;
  if (numberOf(page, 't256') * numberOf(page, 't257') > pixelsMax)
    throw new Error('it has more than 25 million pixels.');
  decodeImage(content, page);
  const rgba = toRGBA8(page);
  if (rgba.length !== page.width * page.height * 4) throw new Error('its pixels cannot be read.');
  return { width: page.width, height: page.height, rgba: new Uint8ClampedArray(rgba) };
}
