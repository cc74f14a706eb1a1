import { extensionOf } from '@/objects/paths';

export type Kind =
  | 'text'
  | 'markdown'
  | 'html'
  | 'json'
  | 'yaml'
  | 'table'
  | 'parquet'
  | 'image'
  | 'svg'
  | 'audio'
  | 'video'
  | 'pdf'
  | 'notebook'
  | 'numpy'
  | 'npz'
  | 'safetensors'
  | 'geo'
  | 'arrow'
  | 'tiff'
  | 'none';

const byExtension: Record<string, Kind> = {};
const add = (kind: Kind, extensions: string) => {
  for (const extension of extensions.split(' ')) byExtension[extension] = kind;
};
add('markdown', 'md markdown');
add('html', 'html htm xhtml');
add('json', 'json webmanifest');
add('geo', 'geojson');
add('arrow', 'arrow arrows feather ipc');
add('tiff', 'tif tiff');
add('yaml', 'yaml yml');
add('table', 'csv tsv');
add('parquet', 'parquet pq');
add('image', 'png jpg jpeg gif webp bmp ico avif');
add('svg', 'svg');
add('audio', 'mp3 wav ogg oga flac m4a opus');
add('video', 'mp4 webm ogv mov m4v');
add('pdf', 'pdf');
add('notebook', 'ipynb');
add('numpy', 'npy');
add('npz', 'npz');
add('safetensors', 'safetensors');
add(
  'text',
  'txt log py js ts tsx jsx mjs sh bash zsh c h cc cpp hpp java go rs rb php sql r toml ini cfg conf xml css scss lua ' +
    'jsonl ndjson diff patch tex rst proto cmake dockerfile env gitignore kt scala swift pl',
);

const byType: [RegExp, Kind][] = [
  [/^text\/markdown/, 'markdown'],
  [/^(text\/html|application\/xhtml)/, 'html'],
  [/^application\/geo\+json/, 'geo'],
  [/arrow/, 'arrow'],
  [/^image\/tiff/, 'tiff'],
  [/^(application\/json|application\/.*\+json)/, 'json'],
  [/yaml/, 'yaml'],
  [/^text\/(csv|tab-separated-values)/, 'table'],
  [/parquet/, 'parquet'],
  [/^image\/svg/, 'svg'],
  [/^image\/(png|jpeg|gif|webp|bmp|avif|x-icon)/, 'image'],
  [/^audio\//, 'audio'],
  [/^video\//, 'video'],
  [/^application\/pdf/, 'pdf'],
  [/ipynb/, 'notebook'],
  [/^text\//, 'text'],
  [/(xml|javascript|x-sh)$/, 'text'],
];

/** How to show an object: by its extension, else by its content type. */
export function kindOf(path: string, contentType: string | undefined): Kind {
  const known = byExtension[extensionOf(path)];
  if (known) return known;
  const type = contentType ?? '';
  return byType.find(([pattern]) => pattern.test(type))?.[1] ?? 'none';
}

const imageTypes: Record<string, string> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  bmp: 'image/bmp',
  ico: 'image/x-icon',
  avif: 'image/avif',
};

/** Stored types are often application/octet-stream, which browsers do not show. */
export function imageTypeOf(path: string, contentType: string | undefined): string {
  return imageTypes[extensionOf(path)] ?? contentType ?? 'application/octet-stream';
}
