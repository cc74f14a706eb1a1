// Packs the built files into the one file that is linked into tarnd; server/web_bundle.h has the format.
// usage: node scripts/pack.js DIST BUNDLE
import { mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, extname, join, relative } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';

const types = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.mjs': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
  '.woff2': 'font/woff2',
};
const compressedBytesMin = 1024;

const [dist, bundle] = process.argv.slice(2);
const files = readdirSync(dist, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => relative(dist, join(entry.parentPath, entry.name)))
  .sort();

const head = ['tarn-web 1'];
const bodies = [];
for (const file of files) {
  const type = types[extname(file)];
  if (!type) throw new Error(`${file}: add the content type of ${extname(file)} to scripts/pack.js`);
  const content = readFileSync(join(dist, file));
  const add = (encoding, body) => {
    head.push(`${file}\t${type}\t${encoding}\t${body.length}`);
    bodies.push(body);
  };
  const gzip = gzipSync(content, { level: 9 });
  // WebAssembly is stored once: DuckDB has 34 MB, and every browser takes gzip, brotli only over TLS.
  if (extname(file) === '.wasm') {
    add('gzip', gzip);
    continue;
  }
  add('identity', content);
  if (content.length < compressedBytesMin) continue;
  const brotli = brotliCompressSync(content, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: content.length > 4 << 20 ? 6 : 11,
      [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
    },
  });
  if (gzip.length < content.length) add('gzip', gzip);
  if (brotli.length < gzip.length) add('br', brotli);
}
mkdirSync(dirname(bundle), { recursive: true });
writeFileSync(`${bundle}.new`, Buffer.concat([Buffer.from(`${head.join('\n')}\n\n`), ...bodies]));
renameSync(`${bundle}.new`, bundle);
