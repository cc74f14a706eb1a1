import { objectUrl } from '@/api/client';
import { extensionOf } from '@/objects/paths';
import { buttonClass } from '@/ui/button';
import { bytes } from '@/ui/format';
import { EmptyState, Loaded } from '@/ui/states';
import { isPlainText, type Shown, useBytes } from './object_bytes';
import { TextPreview } from './text_preview';

const sampledBytes = 4096;

/** An object whose name and type say nothing: its text if it begins like one (LICENSE, Makefile). */
export function UnknownPreview({ shown }: { shown: Shown }) {
  return (
    <Loaded query={useBytes(shown, sampledBytes)} rows={6}>
      {(content) =>
        isPlainText(content, content.length < shown.size) ? (
          <TextPreview shown={shown} />
        ) : (
          <EmptyState
            icon="file"
            action={
              <a className={buttonClass()} href={objectUrl(shown.repository, shown.ref, shown.path)} download>
                Download {bytes(shown.size)}
              </a>
            }
          >
            {extensionOf(shown.path) || shown.contentType || 'This kind'} has no preview.
          </EmptyState>
        )
      }
    </Loaded>
  );
}
