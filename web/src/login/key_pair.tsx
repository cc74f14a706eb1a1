import type { Schemas } from '@/api/client';
import { CopyButton } from '@/ui/copy_as';

/** An access key and its secret, which are shown this once. */
export function KeyPair({
  keys,
}: {
  keys: Pick<Schemas['CredentialsWithSecret'], 'access_key_id' | 'secret_access_key'>;
}) {
  return (
    <dl className="facts">
      <dt>Access key id</dt>
      <dd className="mono">
        <code>{keys.access_key_id}</code> <CopyButton text={keys.access_key_id} label="Copy access key id" />
      </dd>
      <dt>Secret</dt>
      <dd className="mono">
        <code>{keys.secret_access_key}</code>{' '}
        <CopyButton text={keys.secret_access_key} label="Copy secret access key" />
      </dd>
    </dl>
  );
}
