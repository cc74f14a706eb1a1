// Sentences about a repository's collections, as `tarn gc status` has them.
import type { components } from '@/api/schema';
import { count, counted, duration, exactTime, relativeTime } from '@/ui/format';

type List = components['schemas']['GarbageCollectionList'];
type Runs = Pick<List, 'requested' | 'retry_date' | 'retries_left'>;
type Progress = NonNullable<components['schemas']['GarbageCollection']['progress']>;

/** The collection that comes next because somebody requested it; undefined if none does. */
export function nextCollection(runs: Runs, now: Date): { text: string; title?: string } | undefined {
  if (runs.retry_date !== undefined) {
    const at = new Date(runs.retry_date);
    const when =
      at <= now
        ? 'The newest collection failed and is retried now'
        : `The newest collection failed and is retried ${relativeTime(at, now)}`;
    const left = runs.retries_left ?? 0;
    return {
      text: `${when}; ${left === 0 ? 'this is the last retry' : `${counted(left, 'more retry', 'more retries')} if that fails too`}`,
      title: exactTime(at),
    };
  }
  return runs.requested ? { text: 'A collection is requested; it begins when earlier requests have ended' } : undefined;
}

/** "mark: 1,200 of about 5,000, 300 a second, about 13 s left" */
export function progressText(progress: Progress): string {
  const parts = [
    progress.total === undefined ? count(progress.done) : `${count(progress.done)} of about ${count(progress.total)}`,
  ];
  if (progress.rate_per_second !== undefined) parts.push(`${count(progress.rate_per_second)} a second`);
  if (progress.seconds_left !== undefined) parts.push(`about ${duration(progress.seconds_left)} left`);
  return `${progress.step}: ${parts.join(', ')}`;
}

/** Whether the list changes soon: a collection runs, or begins next. */
export function isUnderWay(list: List | undefined): boolean {
  return (
    list !== undefined && (list.results[0]?.state === 'running' || (list.requested && list.retry_date === undefined))
  );
}
