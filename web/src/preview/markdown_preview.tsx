import { useRouter } from '@tanstack/react-router';
import { Fragment, useEffect, useState } from 'react';
import { objectUrl } from '@/api/client';
import { Button } from '@/ui/button';
import { Loaded } from '@/ui/states';
import { frontMatterPairs } from './front_matter';
import { Markdown, type MarkdownLinks, resolvePath } from './markdown';
import { decodeText, type Shown, useBytes } from './object_bytes';
import { PartNote } from './part_note';
import { Unreadable } from './preview_boundary';
import { TextPreview } from './text_preview';
import styles from './preview.module.css';

const shownBytes = 1024 * 1024;

/** Relative links lead to other objects of the same ref. */
export function useMarkdownLinks(shown: Shown): MarkdownLinks {
  const router = useRouter();
  const { repository, ref } = shown;
  return {
    link: (target) => {
      const path = resolvePath(shown.path, target);
      return path === undefined
        ? undefined
        : router.buildLocation({
            to: '/r/$repository/$ref/data',
            params: { repository, ref },
            search: path.endsWith('/')
              ? { path }
              : { path: path.slice(0, path.lastIndexOf('/') + 1) || undefined, object: path },
          }).href;
    },
    image: (target) => {
      const path = resolvePath(shown.path, target);
      return path === undefined ? undefined : objectUrl(repository, ref, path);
    },
  };
}

/** The pairs of the front matter of a model card, and the rest. */
export function splitFrontMatter(text: string): { matter: string; body: string } {
  const found = /^---\r?\n([\s\S]*?)\r?\n---\r?\n?/.exec(text);
  return found ? { matter: found[1] ?? '', body: text.slice(found[0].length) } : { matter: '', body: text };
}

/** Names and values; the text as it is until they are read, and if they cannot be. */
function FrontMatter({ text }: { text: string }) {
  const [pairs, setPairs] = useState<[string, string][]>();
  useEffect(() => {
    let current = true;
    void import('yaml')
      .then(({ parse }) => frontMatterPairs(parse(text, { logLevel: 'silent', maxAliasCount: 100 })))
      .catch(() => undefined)
      .then((read) => {
        if (current) setPairs(read);
      });
    return () => {
      current = false;
    };
  }, [text]);
  if (!pairs)
    return (
      <pre tabIndex={0} aria-label="Front matter">
        <code>{text}</code>
      </pre>
    );
  return (
    <dl className="facts" aria-label="Front matter">
      {pairs.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value || <span className="muted">empty</span>}</dd>
        </Fragment>
      ))}
    </dl>
  );
}

/** The text of an object, rendered; its front matter as names and values. */
export function MarkdownText({ shown, content }: { shown: Shown; content: Uint8Array }) {
  const links = useMarkdownLinks(shown);
  const text = decodeText(content, content.length < shown.size);
  if (text === null) return <Unreadable shown={shown} error={new Error('it is not text.')} />;
  const { matter, body } = splitFrontMatter(text);
  return (
    <div className={styles.prose}>
      {matter && <FrontMatter text={matter} />}
      <Markdown text={body} links={links} />
    </div>
  );
}

export function MarkdownPreview({ shown }: { shown: Shown }) {
  const [source, setSource] = useState(false);
  const query = useBytes(shown, shownBytes);
  return (
    <>
      <div className={styles.bar}>
        <Button onPress={() => setSource(!source)}>{source ? 'Show rendered' : 'Show source'}</Button>
      </div>
      {source ? (
        <TextPreview shown={shown} language="markdown" />
      ) : (
        <Loaded query={query} rows={8}>
          {(content) => (
            <>
              <PartNote shown={content.length} size={shown.size} />
              <MarkdownText shown={shown} content={content} />
            </>
          )}
        </Loaded>
      )}
    </>
  );
}
