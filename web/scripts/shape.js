// Checks the shape of the sources: lines have at most 160 columns, also where Prettier does not break them, and no modules
// of src import each other in a circle, be it for types or on demand. Prints what is wrong and exits 1.
import { readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import ts from 'typescript';

const columnsMax = 160;
const root = new URL('..', import.meta.url).pathname;
const wrong = [];

const sources = readdirSync(root, { recursive: true }).filter(
  (name) => /^(src|scripts|public)\/.*\.\w+$|^[\w.]+\.(html|js|ts)$/.test(name) && name !== 'src/api/schema.ts',
);
for (const name of sources) {
  const lines = readFileSync(join(root, name), 'utf8').split('\n');
  lines.forEach((line, index) => {
    if (line.length > columnsMax)
      wrong.push(`${name}:${index + 1}: has ${line.length} columns, more than ${columnsMax}`);
  });
}

const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile);
const { options, fileNames } = ts.parseJsonConfigFileContent(config, ts.sys, root);
const modules = new Set(fileNames);

/** Text of the module that a node imports or exports from. */
function specifierOf(node) {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier?.text;
  if (ts.isImportTypeNode(node)) return node.argument.literal?.text;
  if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) return node.arguments[0]?.text;
  return undefined;
}

function importsOf(name) {
  const found = new Set();
  const visit = (node) => {
    const specifier = specifierOf(node);
    if (specifier) found.add(ts.resolveModuleName(specifier, name, options, ts.sys).resolvedModule?.resolvedFileName);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(name, readFileSync(name, 'utf8'), ts.ScriptTarget.Latest));
  return [...found].filter((imported) => modules.has(imported));
}

const finished = new Set();
const path = [];

function follow(name) {
  if (finished.has(name)) return;
  const begin = path.indexOf(name);
  if (begin >= 0) {
    const circle = [...path.slice(begin), name].map((module) => relative(root, module));
    wrong.push(`${circle[0]}: is part of a circle of imports: ${circle.join(' -> ')}`);
    return;
  }
  path.push(name);
  importsOf(name).forEach(follow);
  path.pop();
  finished.add(name);
}
fileNames.forEach(follow);

console.log(wrong.length > 0 ? wrong.join('\n') : `shape: ${sources.length} files, ${finished.size} modules`);
if (wrong.length > 0 || sources.length === 0 || finished.size === 0) process.exit(1);
