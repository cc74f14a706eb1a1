import { memo, useSyncExternalStore } from 'react';
import { advice } from '@/api/errors';
import { Button, IconButton } from '@/ui/button';
import { bytes, counted } from '@/ui/format';
import { Progress } from '@/ui/states';
import { Name } from '@/ui/text';
import type { Upload, UploadQueue, UploadState } from './upload_queue';
import styles from './upload_panel.module.css';

const states: Record<UploadState, string> = {
  waiting: 'waiting',
  sending: 'sending',
  done: 'done',
  failed: 'failed',
  cancelled: 'cancelled',
};

/** Uploads: failed files first, then those in progress. */
export function UploadPanel({ queue }: { queue: UploadQueue }) {
  const { counts, totalBytes, sentBytes, listed } = useSyncExternalStore(queue.subscribe, queue.get);
  const running = counts.waiting + counts.sending;
  const { failed } = counts;
  const unlisted = running + failed + counts.cancelled + counts.done - listed.length;
  if (listed.length === 0) return null;
  return (
    <section className={styles.panel} aria-label="Uploads">
      <header className={styles.head}>
        <strong role="status">
          {running > 0
            ? `Uploading ${counted(running, 'file')}`
            : failed > 0
              ? `${counted(failed, 'file')} failed`
              : `${counted(counts.done, 'file')} uploaded`}
        </strong>
        <span className="grow" />
        {failed > 0 && <Button onPress={() => queue.retryFailed()}>Retry failed</Button>}
        {running > 0 ? (
          <Button onPress={() => queue.cancelAll()}>Cancel</Button>
        ) : (
          <IconButton icon="close" label="Close uploads" onPress={() => queue.clear()} />
        )}
      </header>
      <Progress label="All uploads" value={totalBytes === 0 ? 1 : sentBytes / totalBytes}>
        {bytes(sentBytes)} of {bytes(totalBytes)} to {queue.branch}
      </Progress>
      <ul className={styles.list}>
        {listed.map((upload) => (
          <UploadLine key={upload.id} upload={upload} queue={queue} />
        ))}
        {unlisted > 0 && <li className="muted">{counted(unlisted, 'file')} more</li>}
      </ul>
    </section>
  );
}

const UploadLine = memo(function UploadLine({ upload, queue }: { upload: Upload; queue: UploadQueue }) {
  return (
    <li className={styles.line}>
      <span className={styles.name}>
        <Name mono>{upload.path}</Name>
      </span>
      <span className="muted">{bytes(upload.file.size)}</span>
      <span className={upload.state === 'failed' ? styles.failed : 'muted'}>
        {upload.state === 'sending' && upload.file.size > 0
          ? `${Math.floor((100 * upload.sentBytes) / upload.file.size)} %`
          : states[upload.state]}
      </span>
      {upload.state === 'failed' || upload.state === 'cancelled' ? (
        <Button kind="quiet" onPress={() => queue.retry(upload)}>
          Retry
        </Button>
      ) : upload.state === 'done' ? (
        <span />
      ) : (
        <IconButton icon="close" label={`Cancel ${upload.path}`} onPress={() => queue.cancel(upload)} />
      )}
      {upload.state === 'failed' && upload.error && (
        <p role="alert" className={styles.error}>
          {upload.error.message.replace(/([^.!?])$/, '$1.')} {advice(upload.error)}
        </p>
      )}
    </li>
  );
});
