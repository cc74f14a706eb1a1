// Tables in the outputs of notebooks, as pandas writes them.

const rowPx = 27;
const marginPx = 24;
const heightMax = 360;

/** Whether HTML of an output is a table, which text/plain shows worse. */
export function isTable(html: string): boolean {
  return /<table[\s>]/i.test(html);
}

/** Height of a frame for it: a sandboxed frame cannot tell how high its document is. */
export function tableHeight(html: string): number {
  const rows = html.match(/<tr[\s>]/gi)?.length ?? 0;
  return Math.min(heightMax, marginPx + (rows + 1) * rowPx);
}
