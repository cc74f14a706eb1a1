import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { resource, useMay } from '@/api/permissions';
import { CommitDialog } from '@/objects/commit_dialog';
import { Button, buttonClass } from '@/ui/button';
import { counted } from '@/ui/format';
import { Icon } from '@/ui/icon';
import { DiffCounts } from './diff_counts';
import { objectCount, summaryQuery, uncommittedSides } from './diff_queries';
import styles from './changes.module.css';

/** On a branch with uncommitted changes: how many, and what to do with them. */
export function UncommittedBar({ repository, branch }: { repository: string; branch: string }) {
  const changes = useQuery(summaryQuery(uncommittedSides(repository, branch), '', ''));
  const may = useMay('fs:CreateCommit', resource.branch(repository, branch));
  const [committing, setCommitting] = useState(false);
  const changed = changes.data ? objectCount(changes.data) : 0;
  return (
    <>
      {changes.data && changed > 0 && (
        <div className={styles.bar} role="status">
          <Icon name="diff" />
          <span className="grow">
            {counted(changed, 'uncommitted change')} on <strong>{branch}</strong>
          </span>
          <DiffCounts of={changes.data} />
          <Link
            to="/r/$repository/$ref/changes"
            params={{ repository, ref: branch }}
            search={{}}
            className={buttonClass()}
          >
            Review
          </Link>
          <Button kind="primary" onPress={() => setCommitting(true)} refused={may.refused}>
            Commit…
          </Button>
        </div>
      )}
      <CommitDialog repository={repository} branch={branch} isOpen={committing} onClose={() => setCommitting(false)} />
    </>
  );
}
