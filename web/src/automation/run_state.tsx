import { Badge } from '@/ui/text';

/** "failed", "completed", "skipped", or running or queued while it has no end. */
export function RunState({ of }: { of: { status: string; end_time?: string | undefined } }) {
  if (of.end_time === undefined) return <Badge kind="waiting">{of.status === 'queued' ? 'queued' : 'running'}</Badge>;
  return (
    <Badge kind={of.status === 'completed' ? 'added' : of.status === 'skipped' ? 'neutral' : 'removed'}>
      {of.status}
    </Badge>
  );
}
