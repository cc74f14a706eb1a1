// Prints each text of the page that has lines of the `tarn` command, as JSON lines {file, line, text}: one for each branch of
// a condition, with words in the place of values. tests/e2e/documents/test_command_lines.py gives them to the command.
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import ts from 'typescript';

const root = new URL('..', import.meta.url).pathname;
const textsMax = 2000; // of one expression
const depthMax = 20; // of expressions that name others
const numbers = new Set(['days']); // names of values that the types, which know no packages, do not tell to be numbers
const proseProperties = new Set(['label', 'note', 'title']);

const options = ts.parseJsonConfigFileContent(
  ts.readConfigFile(`${root}tsconfig.json`, ts.sys.readFile).config,
  ts.sys,
  root,
);
// Types of packages, but for React's, would take most of the time.
const settings = { ...options.options, lib: ['lib.es2022.d.ts'], types: [] };
const host = ts.createCompilerHost(settings);
host.resolveModuleNameLiterals = (literals, from) =>
  literals.map((literal) =>
    /^([.@]\/|\.\.|react$|csstype$)/.test(literal.text)
      ? ts.resolveModuleName(literal.text, from, settings, host)
      : { resolvedModule: undefined },
  );
const program = ts.createProgram(options.fileNames, settings, host);
const checker = program.getTypeChecker();
const sources = program
  .getSourceFiles()
  .filter((file) => file.fileName.startsWith(`${root}src/`) && !file.fileName.endsWith('.test.ts'));
const snippets = ts.transpileModule(readFileSync(`${root}src/ui/snippets.ts`, 'utf8'), {
  compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ES2022 },
});
const { shellWord } = await import(`data:text/javascript,${encodeURIComponent(snippets.outputText)}`);

function walk(node, visit) {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

function symbolOf(node) {
  const symbol = checker.getSymbolAtLocation(node);
  return symbol && symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
}

/** Elements by the symbol of their component. */
const elements = new Map();
for (const source of sources) {
  walk(source, (node) => {
    if (!(ts.isJsxSelfClosingElement(node) || ts.isJsxOpeningElement(node)) || /^[a-z]/.test(node.tagName.getText()))
      return;
    const symbol = symbolOf(node.tagName);
    elements.set(symbol, [...(elements.get(symbol) ?? []), node]);
  });
}

/** Every choice of one alternative from each place. */
function choices(places) {
  let made = [[]];
  for (const alternatives of places) {
    made = made.flatMap((before) => alternatives.map((value) => [...before, value]));
    if (made.length > textsMax) throw new Error(`an expression has more than ${textsMax} texts`);
  }
  return made;
}

const unique = (values) => [...new Map(values.map((value) => [JSON.stringify(value), value])).values()];
const asList = (value) => (Array.isArray(value) ? value : [value]);
const asText = (value) => (Array.isArray(value) ? value.join(' ') : value);
const nameOf = (node) =>
  ts.isIdentifier(node)
    ? node.text
    : ts.isPropertyAccessExpression(node)
      ? node.name.text
      : ts.isCallExpression(node)
        ? nameOf(node.expression)
        : 'value';

/** Of an expression that only a running page knows: what its type allows, or else its name. */
function typical(node) {
  const type = checker.getNonNullableType(checker.getTypeAtLocation(node));
  const name = nameOf(node).replace(/_/g, '-');
  const parts = type.isUnion() ? type.types : [type];
  if (numbers.has(name)) return ['7'];
  if (parts.every((part) => part.isStringLiteral())) return parts.map((part) => part.value);
  if (parts.every((part) => part.flags & ts.TypeFlags.NumberLike)) return ['7'];
  return checker.isArrayType(type) ? [[name]] : [name];
}

/** One map for each value of the first name in `node` that has a few, so that all conditions see the same; undefined if none has. */
function eachChoice(node, known) {
  let choosing;
  const look = (inner) => {
    if (choosing) return;
    if (
      ts.isIdentifier(inner) &&
      !(ts.isPropertyAccessExpression(inner.parent) && inner.parent.name === inner) &&
      !known.has(symbolOf(inner))
    ) {
      const type = checker.getTypeAtLocation(inner);
      if (type.isUnion() && type.types.every((part) => part.isStringLiteral()))
        choosing = { symbol: symbolOf(inner), values: type.types.map((part) => part.value) };
    }
    ts.forEachChild(inner, look);
  };
  look(node);
  return choosing?.values.map((value) => new Map(known).set(choosing.symbol, [value]));
}

/** Whether `name === 'text'`, or a conjunction with it, can be true and can be false. */
function outcomes(condition, known) {
  if (ts.isParenthesizedExpression(condition)) return outcomes(condition.expression, known);
  if (ts.isBinaryExpression(condition) && condition.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken) {
    const [left, right] = [outcomes(condition.left, known), outcomes(condition.right, known)];
    return { holds: left.holds && right.holds, fails: left.fails || right.fails };
  }
  if (
    ts.isBinaryExpression(condition) &&
    condition.operatorToken.kind === ts.SyntaxKind.EqualsEqualsEqualsToken &&
    ts.isStringLiteral(condition.right)
  ) {
    const values = known.get(symbolOf(condition.left));
    if (values?.length === 1)
      return { holds: values[0] === condition.right.text, fails: values[0] !== condition.right.text };
  }
  return { holds: true, fails: true };
}

/** What the attribute of this name has wherever the component is used; undefined if `declaration` is no attribute. */
function attributeValues(declaration, depth) {
  const component = ts.isBindingElement(declaration) && declaration.parent.parent;
  if (!component || !ts.isParameter(component) || !component.parent.name) return undefined;
  const values = (elements.get(symbolOf(component.parent.name)) ?? []).flatMap((element) =>
    element.attributes.properties
      .filter((attribute) => ts.isJsxAttribute(attribute) && attribute.name.getText() === declaration.name.getText())
      .flatMap((attribute) => valuesOf(attribute.initializer.expression ?? attribute.initializer, new Map(), depth)),
  );
  return values.length > 0 ? values : undefined;
}

function valuesOfName(node, known, depth) {
  const symbol = symbolOf(node);
  if (known.has(symbol)) return known.get(symbol);
  const declaration = symbol?.valueDeclaration;
  if (!declaration || node.text === 'undefined') return node.text === 'undefined' ? [] : typical(node);
  if (
    ts.isVariableDeclaration(declaration) &&
    ts.isIdentifier(declaration.name) &&
    declaration.initializer &&
    !ts.isNewExpression(declaration.initializer)
  ) {
    const values = valuesOf(declaration.initializer, known, depth);
    const more = pushed(symbol, declaration, known, depth);
    return more.length > 0 ? [...values, ...values.map((value) => [...asList(value), ...more])] : values;
  }
  return (checker.isArrayType(checker.getTypeAtLocation(node)) && attributeValues(declaration, depth)) || typical(node);
}

/** The words that `name.push(...)` adds to an array. */
function pushed(symbol, declaration, known, depth) {
  const words = [];
  walk(declaration.getSourceFile(), (node) => {
    if (
      !ts.isCallExpression(node) ||
      !ts.isPropertyAccessExpression(node.expression) ||
      node.expression.name.text !== 'push' ||
      symbolOf(node.expression.expression) !== symbol
    )
      return;
    for (const argument of node.arguments) words.push(valuesOf(argument, known, depth)[0] ?? 'value');
  });
  return words;
}

/** The function that a name or an arrow stands for, if its body is one expression. */
function functionOf(node) {
  let found = node;
  if (ts.isIdentifier(node)) {
    const declaration = symbolOf(node)?.valueDeclaration;
    found = declaration && ts.isVariableDeclaration(declaration) ? declaration.initializer : declaration;
  }
  if (!found || !(ts.isArrowFunction(found) || ts.isFunctionDeclaration(found)) || !found.body) return undefined;
  if (!ts.isBlock(found.body)) return { parameters: found.parameters, body: found.body };
  const [only, ...others] = found.body.statements;
  return others.length === 0 && only && ts.isReturnStatement(only) && only.expression
    ? { parameters: found.parameters, body: only.expression }
    : undefined;
}

function called(callee, places, known, depth) {
  if (ts.isIdentifier(callee) && callee.text === 'shellWord')
    return (places[0] ?? []).map((value) => shellWord(asText(value)));
  const made = functionOf(callee);
  if (!made || made.parameters.some((parameter) => !ts.isIdentifier(parameter.name))) return undefined;
  const inside = new Map(known);
  made.parameters.forEach((parameter, index) =>
    inside.set(
      symbolOf(parameter.name),
      places[index] ?? (parameter.initializer ? valuesOf(parameter.initializer, known, depth) : []),
    ),
  );
  return valuesOf(made.body, inside, depth);
}

const textMethods = new Set(['slice', 'trim', 'toLowerCase']);

function valuesOfCall(node, known, depth) {
  const places = node.arguments.map((argument) =>
    ts.isArrowFunction(argument) ? [] : valuesOf(argument, known, depth),
  );
  if (!ts.isPropertyAccessExpression(node.expression))
    return called(node.expression, places, known, depth) ?? typical(node);
  const method = node.expression.name.text;
  const receivers = valuesOf(node.expression.expression, known, depth);
  if (method === 'map' || method === 'flatMap') {
    return receivers
      .flatMap((receiver) =>
        choices(asList(receiver).map((word) => called(node.arguments[0], [[word]], known, depth) ?? [word])),
      )
      .map((list) => list.flat());
  }
  if (method === 'join')
    return receivers.map((receiver) =>
      asList(receiver)
        .map(asText)
        .join(asText(places[0]?.[0] ?? ',')),
    );
  if (method === 'filter') return receivers;
  if (textMethods.has(method) && receivers.every((receiver) => typeof receiver === 'string')) {
    const given = node.arguments.map((argument) => Number(argument.getText()));
    return receivers.map((receiver) => receiver[method](...given));
  }
  return typical(node);
}

/** The texts, or the lists of words, that an expression can have. */
function valuesOf(node, known = new Map(), depth = 0) {
  if (depth > depthMax) return typical(node);
  const of = (inner) => valuesOf(inner, known, depth + 1);
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node) || ts.isNumericLiteral(node))
    return [node.text];
  if (ts.isTemplateExpression(node) || ts.isArrayLiteralExpression(node)) {
    const each = eachChoice(node, known);
    if (each) return unique(each.flatMap((map) => valuesOf(node, map, depth + 1)));
  }
  if (ts.isTemplateExpression(node)) {
    return unique(
      choices([
        [node.head.text],
        ...node.templateSpans.flatMap((span) => [of(span.expression), [span.literal.text]]),
      ]).map((parts) => parts.map(asText).join('')),
    );
  }
  if (
    ts.isParenthesizedExpression(node) ||
    ts.isAsExpression(node) ||
    ts.isNonNullExpression(node) ||
    ts.isSatisfiesExpression(node)
  )
    return of(node.expression);
  if (ts.isConditionalExpression(node)) {
    const { holds, fails } = outcomes(node.condition, known);
    return unique([...(holds ? of(node.whenTrue) : []), ...(fails ? of(node.whenFalse) : [])]);
  }
  if (ts.isBinaryExpression(node)) {
    const kind = node.operatorToken.kind;
    if (kind === ts.SyntaxKind.PlusToken)
      return choices([of(node.left), of(node.right)]).map((parts) => parts.map(asText).join(''));
    if (kind === ts.SyntaxKind.BarBarToken || kind === ts.SyntaxKind.QuestionQuestionToken)
      return unique([...of(node.left), ...of(node.right)]);
    if (kind === ts.SyntaxKind.AmpersandAmpersandToken) return of(node.right);
  }
  if (ts.isArrayLiteralExpression(node)) {
    return choices(
      node.elements.map((element) =>
        ts.isSpreadElement(element) ? of(element.expression).map(asList) : of(element).map((value) => [asText(value)]),
      ),
    ).map((parts) => parts.flat());
  }
  if (ts.isCallExpression(node)) return valuesOfCall(node, known, depth + 1);
  if (ts.isIdentifier(node)) return valuesOfName(node, known, depth + 1);
  if (ts.isJsxElement(node)) {
    return choices(
      node.children.map((child) =>
        ts.isJsxText(child)
          ? [child.text.replace(/\s+/g, ' ')]
          : ts.isJsxExpression(child) && child.expression
            ? of(child.expression)
            : [''],
      ),
    ).map((parts) => parts.map(asText).join(''));
  }
  return typical(node);
}

/** Whether the text can have a line of the command. */
function isCandidate(node) {
  if (ts.isCallExpression(node))
    return ts.isPropertyAccessExpression(node.expression) && node.expression.name.text === 'join';
  if (node.parent && ts.isPropertyAssignment(node.parent) && proseProperties.has(node.parent.name.getText()))
    return false;
  const isText =
    ts.isStringLiteral(node) ||
    ts.isNoSubstitutionTemplateLiteral(node) ||
    ts.isTemplateExpression(node) ||
    (ts.isJsxElement(node) && node.openingElement.tagName.getText() === 'code');
  return isText && /tarn |^`\$\{|^<code>\{/.test(node.getText());
}

for (const source of sources) {
  walk(source, (node) => {
    if (!isCandidate(node) || ts.isImportDeclaration(node.parent)) return;
    const place = {
      file: relative(root, source.fileName),
      line: source.getLineAndCharacterOfPosition(node.getStart()).line + 1,
    };
    for (const text of valuesOf(node).map(asText))
      if (text.includes('tarn ')) console.log(JSON.stringify({ ...place, text }));
  });
}
