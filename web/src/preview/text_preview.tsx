import { useState } from 'react';
import { Loaded } from '@/ui/states';
import { Code } from './code';
import { languageOf } from './highlight';
import { decodeText, type Shown, useBytes } from './object_bytes';
import { PartNote } from './part_note';
import { Unreadable } from './preview_boundary';

const firstBytes = 64 * 1024;
const growth = 4;
const bytesMax = 16 * 1024 * 1024;

export function TextPreview({ shown, language }: { shown: Shown; language?: string }) {
  const [limit, setLimit] = useState(firstBytes);
  const query = useBytes(shown, limit);
  return (
    <Loaded query={query} rows={8}>
      {(content) => {
        const text = decodeText(content, content.length < shown.size);
        if (text === null) return <Unreadable shown={shown} error={new Error('it is not text.')} />;
        return (
          <>
            <PartNote
              shown={content.length}
              size={shown.size}
              onMore={limit < bytesMax ? () => setLimit(Math.min(bytesMax, limit * growth)) : undefined}
            />
            <Code text={text} language={language ?? languageOf(shown.path)} label={`Text of ${shown.path}`} />
          </>
        );
      }}
    </Loaded>
  );
}
