import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { answer, api } from '@/api/client';
import { Dialog } from '@/ui/dialog';
import { Loaded } from '@/ui/states';
import { Time } from '@/ui/text';
import styles from './refs.module.css';

const shownMax = 200;

/** Every move of an alias: from where, to where, by whom and why. */
export function AliasHistory({
  repository,
  alias,
  onClose,
}: {
  repository: string;
  alias: string;
  onClose: () => void;
}) {
  const changes = useQuery({
    queryKey: ['alias-history', repository, alias],
    queryFn: ({ signal }) =>
      answer(
        api.GET('/repositories/{repository}/aliases/{alias}/history', {
          params: { path: { repository, alias }, query: { amount: shownMax } },
          signal,
        }),
      ),
  });
  const commit = (id: string | undefined) =>
    id === undefined ? (
      <span className="muted">nothing</span>
    ) : (
      <Link to="/r/$repository/-/commits/$commit" params={{ repository, commit: id }} search={{}}>
        <code>{id.slice(0, 12)}</code>
      </Link>
    );
  return (
    <Dialog title={`History of @${alias}`} isOpen onClose={onClose} wide>
      <Loaded query={changes} rows={4}>
        {(data) => (
          <ol className={styles.changes}>
            {data.results.map((change) => (
              <li key={change.version}>
                <span className="muted">version {change.version}</span>
                <span>
                  {commit(change.from_commit_id)} <span aria-label="to">→</span> {commit(change.to_commit_id)}
                </span>
                <span>
                  {change.actor}, <Time at={change.creation_date} />
                  {change.reason && <>: {change.reason}</>}
                  {change.promotion_id && <span className="muted"> (promotion {change.promotion_id})</span>}
                </span>
              </li>
            ))}
          </ol>
        )}
      </Loaded>
      {changes.data?.pagination.has_more && (
        <p className="muted">
          Older changes:{' '}
          <code>
            tarn alias log {alias} --repo {repository}
          </code>
        </p>
      )}
    </Dialog>
  );
}
