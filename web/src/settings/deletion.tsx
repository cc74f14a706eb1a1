import { useNavigate } from '@tanstack/react-router';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { resource, useMay } from '@/api/permissions';
import { DeleteRepository } from '@/repositories/delete_repository';
import { Button } from '@/ui/button';
import styles from './settings.module.css';

export function Deletion({ repository }: { repository: string }) {
  const navigate = useNavigate();
  const may = useMay('fs:DeleteRepository', resource.repository(repository));
  const [deleting, setDeleting] = useState(false);
  return (
    <section className="stack-tight" aria-label="Deletion">
      <h2>Deletion</h2>
      <div className={styles.danger}>
        <p className="grow">
          Deletes all branches, tags, commits and uncommitted changes. Until its grace is over,{' '}
          <Link to="/admin/deleted">deleted repositories</Link> can be restored.
        </p>
        <Button kind="danger" icon="trash" refused={may.refused} onPress={() => setDeleting(true)}>
          Delete repository…
        </Button>
      </div>
      {deleting && (
        <DeleteRepository
          repository={repository}
          onClose={() => setDeleting(false)}
          onDeleted={() => navigate({ to: '/', search: {} })}
        />
      )}
    </section>
  );
}
