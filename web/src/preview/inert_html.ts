const elements = new Set(
  [
    'a abbr article aside b blockquote body br caption code col colgroup dd del details div dl dt em figcaption figure',
    'footer h1 h2 h3 h4 h5 h6 head header hr html i img ins kbd li main mark nav ol p pre q s samp section small span',
    'strong sub summary sup table tbody td tfoot th thead time tr u ul var wbr title',
  ].flatMap((line) => line.split(' ')),
);
const attributes = new Set(
  'align alt border colspan dir headers height lang rowspan scope span start title valign width'.split(' '),
);

/**
 * The document with text, structure and images of data: alone. It is parsed without running or fetching anything, and
 * what is not on the list of elements and attributes is left out.
 */
export function withoutActiveContent(html: string): string {
  const source = new DOMParser().parseFromString(html, 'text/html');
  const out = document.implementation.createHTMLDocument('');
  const copy = (from: Node, to: Node, depth: number) => {
    for (const child of from.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) to.appendChild(out.createTextNode(child.nodeValue ?? ''));
      if (!(child instanceof Element) || depth > 200) continue;
      const name = child.localName;
      if (
        [
          'script',
          'style',
          'template',
          'noscript',
          'iframe',
          'object',
          'embed',
          'svg',
          'math',
          'textarea',
          'select',
        ].includes(name)
      )
        continue;
      if (!elements.has(name)) {
        copy(child, to, depth + 1);
        continue;
      }
      const made = out.createElement(name);
      for (const attribute of child.attributes)
        if (attributes.has(attribute.name)) made.setAttribute(attribute.name, attribute.value);
      const source = child.getAttribute('src');
      if (name === 'img' && source !== null && /^data:image\/(png|jpeg|gif|webp);base64,/i.test(source))
        made.setAttribute('src', source);
      copy(child, made, depth + 1);
      to.appendChild(made);
    }
  };
  copy(source.body, out.body, 0);
  return `<!doctype html>${out.documentElement.outerHTML}`;
}
