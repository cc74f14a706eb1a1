import { Fragment, type ReactNode } from 'react';
import { type Token, type Tokens, lexer } from 'marked';

const depthMax = 30;

export interface MarkdownLinks {
  /** The address of the page of an object named by a relative link; undefined = no link. */
  link: (target: string) => string | undefined;
  /** The address of an image named by a relative link; undefined = its text is shown instead. */
  image: (target: string) => string | undefined;
}

/** Markdown as elements. HTML in it is shown as text; nothing is fetched from other hosts. */
export function Markdown({ text, links }: { text: string; links: MarkdownLinks }) {
  return <>{blocks(lexer(text, { gfm: true }), links, 0)}</>;
}

const isAbsolute = (target: string) => /^[a-z][a-z0-9+.-]*:|^\/\//i.test(target);
/** Links that leave this page; all other schemes (javascript:, data:) are no links. */
export const isWebLink = (target: string) => /^https?:\/\/|^mailto:/i.test(target);

function keyed(tokens: readonly Token[] | undefined, render: (token: Token) => ReactNode): ReactNode[] {
  return (tokens ?? []).map((token, index) => <Fragment key={index}>{render(token)}</Fragment>);
}

function blocks(tokens: readonly Token[] | undefined, links: MarkdownLinks, depth: number): ReactNode {
  if (depth > depthMax) return null;
  return keyed(tokens, (token) => {
    switch (token.type) {
      case 'heading': {
        // The page has its own h1.
        const level = Math.min(6, (token as Tokens.Heading).depth + 1);
        const Heading = `h${level}` as 'h2';
        return <Heading>{inline(token.tokens, links, depth + 1)}</Heading>;
      }
      case 'paragraph':
        return <p>{inline(token.tokens, links, depth + 1)}</p>;
      case 'text':
        return token.tokens ? inline(token.tokens, links, depth + 1) : decode((token as Tokens.Text).text);
      case 'code':
        return (
          <pre tabIndex={0}>
            <code>{(token as Tokens.Code).text}</code>
          </pre>
        );
      case 'blockquote':
        return <blockquote>{blocks(token.tokens, links, depth + 1)}</blockquote>;
      case 'list': {
        const list = token as Tokens.List;
        const items = list.items.map((item, index) => (
          <li key={index}>
            {item.task && (
              <input
                type="checkbox"
                checked={item.checked === true}
                readOnly
                disabled
                aria-label={item.checked ? 'done' : 'open'}
              />
            )}
            {blocks(
              item.tokens.filter((part) => part.type !== 'checkbox'),
              links,
              depth + 1,
            )}
          </li>
        ));
        return list.ordered ? <ol start={Number(list.start) || 1}>{items}</ol> : <ul>{items}</ul>;
      }
      case 'table': {
        const table = token as Tokens.Table;
        return (
          <table tabIndex={0}>
            <thead>
              <tr>
                {table.header.map((cell, index) => (
                  <th key={index}>{inline(cell.tokens, links, depth + 1)}</th>
                ))}
              </tr>
            </thead>
            <tbody>
              {table.rows.map((row, index) => (
                <tr key={index}>
                  {row.map((cell, column) => (
                    <td key={column}>{inline(cell.tokens, links, depth + 1)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        );
      }
      case 'hr':
        return <hr />;
      case 'html':
        return (token as Tokens.HTML).text.trim() === '' ? null : <p>{(token as Tokens.HTML).text}</p>;
      case 'space':
      case 'def':
        return null;
      default:
        return inline([token], links, depth + 1);
    }
  });
}

function inline(tokens: readonly Token[] | undefined, links: MarkdownLinks, depth: number): ReactNode {
  if (depth > depthMax) return null;
  return keyed(tokens, (token) => {
    switch (token.type) {
      case 'strong':
        return <strong>{inline(token.tokens, links, depth + 1)}</strong>;
      case 'em':
        return <em>{inline(token.tokens, links, depth + 1)}</em>;
      case 'del':
        return <del>{inline(token.tokens, links, depth + 1)}</del>;
      case 'codespan':
        return <code>{(token as Tokens.Codespan).text}</code>;
      case 'br':
        return <br />;
      case 'link': {
        const { href, text } = token as Tokens.Link;
        const content = token.tokens ? inline(token.tokens, links, depth + 1) : text;
        if (isWebLink(href))
          return (
            <a href={href} target="_blank" rel="noopener noreferrer nofollow">
              {content}
            </a>
          );
        const local = isAbsolute(href) || href.startsWith('#') ? undefined : links.link(href);
        return local === undefined ? <>{content}</> : <a href={local}>{content}</a>;
      }
      case 'image': {
        const { href, text } = token as Tokens.Image;
        const source = isAbsolute(href) ? undefined : links.image(href);
        return source === undefined ? <em>[image: {text || href}]</em> : <img src={source} alt={text} loading="lazy" />;
      }
      case 'html':
        return (token as Tokens.HTML).text;
      case 'escape':
        return (token as Tokens.Escape).text;
      case 'text':
        return token.tokens ? inline(token.tokens, links, depth + 1) : decode((token as Tokens.Text).text);
      default:
        return 'raw' in token ? token.raw : null;
    }
  });
}

const entities: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  copy: '©',
  mdash: '—',
  ndash: '–',
  hellip: '…',
};

/** Entities of HTML, which Markdown allows in text. */
function decode(text: string): string {
  return text.replace(/&(#x[0-9a-f]{1,6}|#[0-9]{1,7}|[a-z]{1,10});/gi, (whole, name: string) => {
    if (!name.startsWith('#')) return entities[name] ?? whole;
    const code = name[1] === 'x' || name[1] === 'X' ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : whole;
  });
}

/** The key that a relative link in an object means; undefined if it leaves the repository. */
export function resolvePath(from: string, target: string): string | undefined {
  const path = target.split(/[?#]/, 1)[0] ?? '';
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    return undefined;
  }
  const parts = decoded.startsWith('/') ? [] : from.split('/').slice(0, -1);
  for (const part of decoded.replace(/^\//, '').split('/')) {
    if (part === '.') continue;
    if (part !== '..') parts.push(part);
    else if (parts.pop() === undefined) return undefined;
  }
  return parts.join('/') || undefined;
}
