import { useMemo, useState } from 'react';
import { Button } from '@/ui/button';
import { Loaded } from '@/ui/states';
import { decodeText, type Shown, useBytes } from './object_bytes';
import { Note, PartNote } from './part_note';
import { Unreadable } from './preview_boundary';
import { TextPreview } from './text_preview';
import { withoutActiveContent } from './inert_html';
import styles from './preview.module.css';

const shownBytes = 1024 * 1024;

/** The source; rendered only on demand, in a frame that runs and fetches nothing. */
export function HtmlPreview({ shown }: { shown: Shown }) {
  const [rendered, setRendered] = useState(false);
  return (
    <>
      <div className={styles.bar}>
        <Button onPress={() => setRendered(!rendered)}>{rendered ? 'Show source' : 'Show rendered'}</Button>
      </div>
      {rendered ? <Rendered shown={shown} /> : <TextPreview shown={shown} language="xml" />}
    </>
  );
}

function Rendered({ shown }: { shown: Shown }) {
  const query = useBytes(shown, shownBytes);
  return (
    <Loaded query={query} rows={8}>
      {(content) => {
        const text = decodeText(content, content.length < shown.size);
        if (text === null) return <Unreadable shown={shown} error={new Error('it is not text.')} />;
        return (
          <>
            <PartNote shown={content.length} size={shown.size} />
            <Note>Scripts, styles, forms and everything from elsewhere were taken out.</Note>
            <Frame html={text} title={`Rendered ${shown.path}`} />
          </>
        );
      }}
    </Loaded>
  );
}

/** sandbox="" gives the frame no origin, no scripts, no forms and no way out; the page's policy holds in it too. */
export function Frame({ html, title, height }: { html: string; title: string; height?: number }) {
  const inert = useMemo(() => withoutActiveContent(html), [html]);
  return (
    <iframe
      className={styles.frame}
      style={height === undefined ? undefined : { height }}
      sandbox=""
      srcDoc={inert}
      title={title}
      referrerPolicy="no-referrer"
    />
  );
}
