import { useQuery } from '@tanstack/react-query';
import { Fragment, useState } from 'react';
import { answer, api } from '@/api/client';
import { resource, useMay } from '@/api/permissions';
import { repositoryQuery } from '@/app/repository_query';
import { Button } from '@/ui/button';
import { CopyAs } from '@/ui/copy_as';
import { FormDialog } from '@/ui/dialog';
import { PairsField } from '@/ui/field';
import { s3Uri, tarnUri } from '@/ui/snippets';
import { Loaded } from '@/ui/states';
import { Badge, Time } from '@/ui/text';
import { toast } from '@/ui/toast';
import { metadataQuery, settingsChanged } from './settings_queries';

export function General({ repository }: { repository: string }) {
  const loaded = useQuery(repositoryQuery(repository));
  const metadata = useQuery(metadataQuery(repository));
  const may = useMay('fs:UpdateRepository', resource.repository(repository));
  const [editing, setEditing] = useState(false);
  return (
    <>
      <section className="stack-tight" aria-label="Repository">
        <div className="page-head">
          <h2 className="grow">Repository</h2>
          {loaded.data && (
            <CopyAs
              snippets={[
                { label: 'tarn URI', text: tarnUri(repository, loaded.data.default_branch) },
                { label: 'S3 URI', text: s3Uri(repository, loaded.data.default_branch) },
              ]}
            />
          )}
        </div>
        <Loaded query={loaded} rows={4}>
          {(data) => (
            <dl className="facts">
              <dt>Name</dt>
              <dd>
                {data.id} {data.read_only && <Badge kind="neutral">read-only</Badge>}
              </dd>
              <dt>Default branch</dt>
              <dd>{data.default_branch}</dd>
              <dt>Storage namespace</dt>
              <dd className="mono">{data.storage_namespace}</dd>
              {data.storage_id && (
                <>
                  <dt>Storage</dt>
                  <dd>{data.storage_id}</dd>
                </>
              )}
              <dt>Created</dt>
              <dd>
                <Time at={data.creation_date} />
              </dd>
            </dl>
          )}
        </Loaded>
      </section>
      <section className="stack-tight" aria-label="Metadata">
        <div className="page-head">
          <h2 className="grow">Metadata</h2>
          <Button icon="edit" refused={may.refused} onPress={() => setEditing(true)}>
            Edit…
          </Button>
        </div>
        <Loaded query={metadata} rows={2}>
          {(data) =>
            Object.keys(data).length === 0 ? (
              <p className="muted">
                None. Keys and values for people and programs, as <code>owner</code> or <code>license</code>.
              </p>
            ) : (
              <dl className="facts">
                {Object.entries(data).map(([key, value]) => (
                  <Fragment key={key}>
                    <dt className="mono">{key}</dt>
                    <dd>{value}</dd>
                  </Fragment>
                ))}
              </dl>
            )
          }
        </Loaded>
      </section>
      {editing && metadata.data && (
        <EditMetadata repository={repository} present={metadata.data} onClose={() => setEditing(false)} />
      )}
    </>
  );
}

function EditMetadata({
  repository,
  present,
  onClose,
}: {
  repository: string;
  present: Record<string, string>;
  onClose: () => void;
}) {
  const [pairs, setPairs] = useState<[string, string][]>(Object.entries(present));
  const keys = pairs.map(([key]) => key);
  const params = { path: { repository } };
  return (
    <FormDialog
      title={`Metadata of ${repository}`}
      action="Save"
      isOpen
      onClose={onClose}
      refused={
        keys.some((key) => key === '')
          ? 'Each value needs a key'
          : new Set(keys).size < keys.length
            ? 'A key is there twice'
            : undefined
      }
      onSubmit={async () => {
        const changed = pairs.filter(([key, value]) => present[key] !== value);
        const removed = Object.keys(present).filter((key) => !keys.includes(key));
        if (changed.length > 0)
          await answer(
            api.POST('/repositories/{repository}/metadata', {
              params,
              body: { metadata: Object.fromEntries(changed) },
            }),
          );
        if (removed.length > 0)
          await answer(api.DELETE('/repositories/{repository}/metadata', { params, body: { keys: removed } }));
        settingsChanged(repository);
        toast('Metadata saved');
      }}
    >
      <PairsField label="Keys and values" pairs={pairs} onChange={setPairs} />
    </FormDialog>
  );
}
