import { useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api, type Schemas } from '@/api/client';
import { asError } from '@/api/errors';
import { queryClient } from '@/api/query_client';
import { signIn } from '@/api/session';
import { Button } from '@/ui/button';
import { TextField } from '@/ui/field';
import { ErrorPanel } from '@/ui/states';
import { KeyPair } from './key_pair';
import styles from './login.module.css';

/** The first start of a server with auth.setup: http; makes the first administrator and shows the keys once. */
export function SetupPage() {
  const router = useRouter();
  const [token, setToken] = useState('');
  const [name, setName] = useState('admin');
  const [keys, setKeys] = useState<Schemas['CredentialsWithSecret'] | null>(null);
  const [error, setError] = useState<Error | null>(null);

  const submit = async () => {
    setError(null);
    try {
      const made = await answer(
        api.POST('/setup_lakefs', {
          body: { username: name.trim() },
          headers: { Authorization: `Bearer ${token.trim()}` },
        }),
      );
      setKeys(made);
    } catch (thrown) {
      setError(asError(thrown));
    }
  };
  const proceed = async () => {
    if (!keys) return;
    queryClient.clear();
    try {
      await signIn(keys.access_key_id, keys.secret_access_key);
      await router.navigate({ to: '/', replace: true });
    } catch (thrown) {
      setError(asError(thrown));
    }
  };
  return (
    <main className={styles.page}>
      <form
        className={styles.card}
        onSubmit={(event) => {
          event.preventDefault();
          void (keys ? proceed() : submit());
        }}
      >
        <img src="/icon.svg" width={40} height={40} alt="" />
        <h1>{keys ? 'Keep these keys' : 'Set up this server'}</h1>
        {keys ? (
          <>
            <p>They are shown this once. Whoever has them has every permission.</p>
            <KeyPair keys={keys} />
          </>
        ) : (
          <>
            <TextField
              label="Setup token"
              type="password"
              value={token}
              onChange={setToken}
              autoFocus
              required
              mono
              help={
                <>
                  From the file <code>setup-token</code> in the server's data directory, or from TARN_SETUP_TOKEN.
                </>
              }
            />
            <TextField label="Name of the administrator" value={name} onChange={setName} required />
          </>
        )}
        {error && <ErrorPanel error={error} />}
        <Button type="submit" kind="primary">
          {keys ? 'I have saved them: sign in' : 'Create administrator'}
        </Button>
      </form>
    </main>
  );
}
