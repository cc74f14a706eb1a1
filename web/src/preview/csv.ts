/** Rows of CSV or TSV as RFC 4180 has them; quotes that are never closed end with the text. */
export function parseCsv(text: string, delimiter: string, rowsMax: number): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let field = '';
  let at = 0;
  const endField = () => {
    row.push(field);
    field = '';
  };
  const endRow = () => {
    endField();
    rows.push(row);
    row = [];
  };
  while (at < text.length && rows.length < rowsMax) {
    const c = text[at]!;
    if (c === '"' && field === '') {
      ++at;
      for (;;) {
        const quote = text.indexOf('"', at);
        if (quote < 0) {
          field += text.slice(at);
          at = text.length;
          break;
        }
        field += text.slice(at, quote);
        at = quote + 1;
        if (text[at] !== '"') break;
        field += '"';
        ++at;
      }
    } else if (c === delimiter) {
      endField();
      ++at;
    } else if (c === '\n' || c === '\r') {
      endRow();
      at += c === '\r' && text[at + 1] === '\n' ? 2 : 1;
    } else {
      let end = at + 1;
      while (end < text.length && text[end] !== delimiter && text[end] !== '\n' && text[end] !== '\r') ++end;
      field += text.slice(at, end);
      at = end;
    }
  }
  if (rows.length < rowsMax && (field !== '' || row.length > 0)) endRow();
  return rows;
}

/** The delimiter that the first line has most of. */
export function delimiterOf(text: string, path: string): string {
  if (path.toLowerCase().endsWith('.tsv')) return '\t';
  const line = text.slice(0, 10_000).split(/\r?\n/, 1)[0] ?? '';
  return [',', '\t', ';', '|'].reduce(
    (best, candidate) => (line.split(candidate).length > line.split(best).length ? candidate : best),
    ',',
  );
}
