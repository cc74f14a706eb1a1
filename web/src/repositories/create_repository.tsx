import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { answer, api, type Schemas } from '@/api/client';
import { queryClient } from '@/api/query_client';
import { configQuery } from '@/api/session';
import { FormDialog } from '@/ui/dialog';
import { Checkbox, TextField } from '@/ui/field';
import { toast } from '@/ui/toast';

const namePattern = /^[a-z0-9][a-z0-9-]{2,62}$/;

export function nameProblem(name: string): string | undefined {
  if (name === '' || namePattern.test(name)) return undefined;
  if (name.length < 3) return 'At least 3 characters.';
  if (name.length > 63) return 'At most 63 characters.';
  return 'Lower-case letters, digits and hyphens; the first is a letter or digit.';
}

export function CreateRepository({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const navigate = useNavigate();
  const config = useQuery(configQuery).data;
  const storage = config?.storage_config ?? config?.storage_config_list?.[0];
  // Closing leads to the address of the list, so the new repository is opened instead of it, not before.
  const made = useRef<Schemas['Repository'] | null>(null);
  const [name, setName] = useState('');
  const [namespace, setNamespace] = useState<string | null>(null);
  const [branch, setBranch] = useState('main');
  const [sample, setSample] = useState(false);
  const prefix = storage?.default_namespace_prefix ?? (storage?.blockstore_type === 's3' ? 's3://' : 'local://');
  const where = namespace ?? (name ? `${prefix.endsWith('/') ? prefix : `${prefix}/`}${name}` : '');

  return (
    <FormDialog
      title="Create repository"
      action="Create repository"
      isOpen={isOpen}
      onClose={() => {
        const opened = made.current;
        made.current = null;
        if (opened)
          void navigate({
            to: '/r/$repository/$ref/data',
            params: { repository: opened.id, ref: opened.default_branch },
            search: {},
          });
        else onClose();
      }}
      refused={name === '' ? 'Enter a name' : nameProblem(name) ? 'The name is not allowed' : undefined}
      onSubmit={async () => {
        made.current = await answer(
          api.POST('/repositories', {
            body: { name, storage_namespace: where, default_branch: branch, sample_data: sample, read_only: false },
          }),
        );
        await queryClient.invalidateQueries({ queryKey: ['repositories'] });
        toast(`Repository ${made.current.id} was created`);
        setName('');
        setNamespace(null);
      }}
    >
      <TextField
        label="Name"
        value={name}
        onChange={setName}
        autoFocus
        required
        mono
        error={nameProblem(name)}
        help="3 to 63 lower-case letters, digits and hyphens."
      />
      <TextField
        label="Storage namespace"
        value={where}
        onChange={setNamespace}
        required
        mono
        help={
          <>
            Where the store keeps its objects; not used by another repository. Example:{' '}
            <span className="mono">{storage?.blockstore_namespace_example}</span>
          </>
        }
      />
      <TextField label="Default branch" value={branch} onChange={setBranch} required mono />
      <Checkbox checked={sample} onChange={setSample} help="A few small files to try things with.">
        Add sample data
      </Checkbox>
    </FormDialog>
  );
}
