import { useEffect, useState } from 'react';
import { type Span, highlight } from './highlight';
import styles from './preview.module.css';

/** Text with colours; plain until its language is loaded. */
export function Code({ text, language, label }: { text: string; language: string | undefined; label: string }) {
  const [spans, setSpans] = useState<Span[]>([{ text }]);
  useEffect(() => {
    let current = true;
    setSpans([{ text }]);
    void highlight(text, language).then((result) => {
      if (current) setSpans(result);
    });
    return () => {
      current = false;
    };
  }, [text, language]);
  return (
    <pre className={styles.code} tabIndex={0} role="region" aria-label={label}>
      <code>
        {spans.map((span, index) =>
          span.className ? (
            <span key={index} className={span.className}>
              {span.text}
            </span>
          ) : (
            span.text
          ),
        )}
      </code>
    </pre>
  );
}
