import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { answer, api } from '@/api/client';
import { resource, useMay } from '@/api/permissions';
import { Button } from '@/ui/button';
import { FormDialog } from '@/ui/dialog';
import { TextField } from '@/ui/field';
import { counted } from '@/ui/format';
import { Loaded } from '@/ui/states';
import { toast } from '@/ui/toast';
import { metricFilesQuery, settingsChanged } from './settings_queries';
import styles from './settings.module.css';

const globsMax = 100;

/** Which files of commits are read for metrics. */
export function MetricFiles({ repository }: { repository: string }) {
  const globs = useQuery(metricFilesQuery(repository));
  const may = useMay('fs:UpdateRepository', resource.repository(repository));
  const [editing, setEditing] = useState(false);
  return (
    <section className="stack-tight" aria-label="Metric files">
      <div className="page-head">
        <h2 className="grow">Metric files</h2>
        <Button icon="edit" refused={may.refused} onPress={() => setEditing(true)}>
          Edit…
        </Button>
      </div>
      <p className="muted">
        Numbers in these files of a commit become metrics, in runs, comparisons and gates. Who may read runs sees them.
      </p>
      <Loaded query={globs} rows={2}>
        {(data) =>
          data.length === 0 ? (
            <p>No file is read.</p>
          ) : (
            <ul className={styles.rules}>
              {data.map((glob) => (
                <li key={glob} className={styles.rule}>
                  <code className={styles.what}>{glob}</code>
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
      {editing && globs.data && (
        <EditGlobs repository={repository} present={globs.data} onClose={() => setEditing(false)} />
      )}
    </section>
  );
}

function EditGlobs({
  repository,
  present,
  onClose,
}: {
  repository: string;
  present: readonly string[];
  onClose: () => void;
}) {
  const [text, setText] = useState(present.join('\n'));
  const globs = [
    ...new Set(
      text
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== ''),
    ),
  ];
  return (
    <FormDialog
      title="Metric files"
      action="Save"
      isOpen
      onClose={onClose}
      refused={globs.length > globsMax ? `At most ${globsMax} patterns` : undefined}
      onSubmit={async () => {
        await answer(
          api.PUT('/repositories/{repository}/settings/metric_files', {
            params: { path: { repository } },
            body: { globs },
          }),
        );
        settingsChanged(repository);
        toast(globs.length === 0 ? 'No file is read for metrics' : `${counted(globs.length, 'pattern')} saved`);
      }}
    >
      <TextField
        label="Patterns, one a line"
        value={text}
        onChange={setText}
        rows={8}
        mono
        autoFocus
        help="metrics/*.json, metrics/**/*.jsonl: JSON with numbers, JSON lines with steps, CSV"
      />
    </FormDialog>
  );
}
