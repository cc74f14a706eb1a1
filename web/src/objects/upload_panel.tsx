import { useSyncExternalStore } from 'react';
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
const listedMax = 100;

/** Uploads: failed files first, then those in progress. */
export function UploadPanel({ queue }: { queue: UploadQueue }) {
  const uploads = useSyncExternalStore(queue.subscribe, queue.get);
  if (uploads.length === 0) return null;
  const of = (state: UploadState) => uploads.filter((upload) => upload.state === state);
  const running = of('waiting').length + of('sending').length;
  const failed = of('failed').length;
  const total = uploads.reduce((sum, upload) => sum + upload.file.size, 0);
  const sent = uploads.reduce(
    (sum, upload) => sum + (upload.state === 'done' ? upload.file.size : upload.sentBytes),
    0,
  );
  const order: UploadState[] = ['failed', 'sending', 'waiting', 'cancelled', 'done'];
  const listed = order.flatMap(of).slice(0, listedMax);
  return (
    <section className={styles.panel} aria-label="Uploads">
      <header className={styles.head}>
        <strong role="status">
          {running > 0
            ? `Uploading ${counted(running, 'file')}`
            : failed > 0
              ? `${counted(failed, 'file')} failed`
              : `${counted(of('done').length, 'file')} uploaded`}
        </strong>
        <span className="grow" />
        {failed > 0 && <Button onPress={() => queue.retryFailed()}>Retry failed</Button>}
        {running > 0 ? (
          <Button onPress={() => queue.cancelAll()}>Cancel</Button>
        ) : (
          <IconButton icon="close" label="Close uploads" onPress={() => queue.clear()} />
        )}
      </header>
      <Progress label="All uploads" value={total === 0 ? 1 : sent / total}>
        {bytes(sent)} of {bytes(total)} to {queue.branch}
      </Progress>
      <ul className={styles.list}>
        {listed.map((upload) => (
          <UploadLine key={upload.id} upload={upload} queue={queue} />
        ))}
        {uploads.length > listedMax && <li className="muted">{counted(uploads.length - listedMax, 'file')} more</li>}
      </ul>
    </section>
  );
}

function UploadLine({ upload, queue }: { upload: Upload; queue: UploadQueue }) {
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
        <Button kind="quiet" onPress={() => queue.retry(upload.id)}>
          Retry
        </Button>
      ) : upload.state === 'done' ? (
        <span />
      ) : (
        <IconButton icon="close" label={`Cancel ${upload.path}`} onPress={() => queue.cancel(upload.id)} />
      )}
      {upload.error && (
        <p role="alert" className={styles.error}>
          {upload.error.message.replace(/([^.!?])$/, '$1.')} {advice(upload.error)}
        </p>
      )}
    </li>
  );
}
