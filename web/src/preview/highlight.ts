import { extensionOf, nameOf } from '@/objects/paths';
import hljs from 'highlight.js/lib/core';
import type { LanguageFn } from 'highlight.js';

const loaders: Record<string, () => Promise<{ default: LanguageFn }>> = {
  bash: () => import('highlight.js/lib/languages/bash'),
  c: () => import('highlight.js/lib/languages/c'),
  cmake: () => import('highlight.js/lib/languages/cmake'),
  cpp: () => import('highlight.js/lib/languages/cpp'),
  css: () => import('highlight.js/lib/languages/css'),
  diff: () => import('highlight.js/lib/languages/diff'),
  dockerfile: () => import('highlight.js/lib/languages/dockerfile'),
  go: () => import('highlight.js/lib/languages/go'),
  ini: () => import('highlight.js/lib/languages/ini'),
  java: () => import('highlight.js/lib/languages/java'),
  javascript: () => import('highlight.js/lib/languages/javascript'),
  json: () => import('highlight.js/lib/languages/json'),
  kotlin: () => import('highlight.js/lib/languages/kotlin'),
  lua: () => import('highlight.js/lib/languages/lua'),
  markdown: () => import('highlight.js/lib/languages/markdown'),
  python: () => import('highlight.js/lib/languages/python'),
  r: () => import('highlight.js/lib/languages/r'),
  ruby: () => import('highlight.js/lib/languages/ruby'),
  rust: () => import('highlight.js/lib/languages/rust'),
  scala: () => import('highlight.js/lib/languages/scala'),
  sql: () => import('highlight.js/lib/languages/sql'),
  typescript: () => import('highlight.js/lib/languages/typescript'),
  xml: () => import('highlight.js/lib/languages/xml'),
  yaml: () => import('highlight.js/lib/languages/yaml'),
};

const byExtension: Record<string, string> = {
  py: 'python',
  js: 'javascript',
  mjs: 'javascript',
  jsx: 'javascript',
  ts: 'typescript',
  tsx: 'typescript',
  sh: 'bash',
  zsh: 'bash',
  h: 'cpp',
  cc: 'cpp',
  hpp: 'cpp',
  html: 'xml',
  htm: 'xml',
  svg: 'xml',
  md: 'markdown',
  yml: 'yaml',
  rs: 'rust',
  rb: 'ruby',
  kt: 'kotlin',
  toml: 'ini',
  cfg: 'ini',
  conf: 'ini',
  env: 'ini',
  patch: 'diff',
  geojson: 'json',
  jsonl: 'json',
  ndjson: 'json',
  scss: 'css',
};

export function languageOf(path: string): string | undefined {
  const name = nameOf(path).toLowerCase();
  if (name === 'dockerfile') return 'dockerfile';
  if (name === 'cmakelists.txt') return 'cmake';
  const extension = extensionOf(path);
  const language = byExtension[extension] ?? extension;
  return language in loaders ? language : undefined;
}

export interface Span {
  text: string;
  className?: string;
}

type Node = string | { scope?: string; children: Node[] };

/** The text as spans with class names; no HTML is made of it. Unknown languages and long texts stay plain. */
export async function highlight(text: string, language: string | undefined): Promise<Span[]> {
  const load = language === undefined ? undefined : loaders[language];
  if (!load || text.length > 200_000) return [{ text }];
  if (!hljs.getLanguage(language!)) hljs.registerLanguage(language!, (await load()).default);
  const result = hljs.highlight(text, { language: language!, ignoreIllegals: true });
  const spans: Span[] = [];
  const walk = (node: Node, className: string | undefined) => {
    if (typeof node === 'string') {
      spans.push(className ? { text: node, className } : { text: node });
      return;
    }
    const own = node.scope ? `hljs-${node.scope.split('.')[0]}` : className;
    for (const child of node.children) walk(child, own);
  };
  walk((result._emitter as unknown as { rootNode: Node }).rootNode, undefined);
  return spans;
}
