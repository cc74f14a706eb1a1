import { useQuery } from '@tanstack/react-query';
import { getRouteApi, useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { asError, ApiError } from '@/api/errors';
import { setupStateQuery, signIn } from '@/api/session';
import { Button, buttonClass } from '@/ui/button';
import { TextField } from '@/ui/field';
import { ErrorPanel } from '@/ui/states';
import { localAddress } from './local_address';
import styles from './login.module.css';

const route = getRouteApi('/login');

export function LoginPage() {
  const { next } = route.useSearch();
  const router = useRouter();
  const state = useQuery(setupStateQuery);
  const [accessKeyId, setAccessKeyId] = useState('');
  const [secret, setSecret] = useState('');
  const [running, setRunning] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const config = state.data?.login_config;
  const singleSignOn = config?.login_url && config.login_url_method !== 'none' ? config.login_url : undefined;

  const submit = async () => {
    if (running) return;
    setRunning(true);
    setError(null);
    try {
      await signIn(accessKeyId.trim(), secret.trim());
      await router.navigate({ href: localAddress(next), replace: true });
    } catch (thrown) {
      const failed = asError(thrown);
      const wrong = failed instanceof ApiError && failed.isUnauthenticated;
      setError(wrong ? new ApiError(400, config?.login_failed_message ?? failed.message, failed.reason, failed.requestId) : failed);
    } finally {
      setRunning(false);
    }
  };
  return (
    <main className={styles.page}>
      <form className={styles.card} onSubmit={(event) => { event.preventDefault(); void submit(); }}>
        <img src="/icon.svg" width={40} height={40} alt="" />
        <h1>Sign in to Tarn</h1>
        {next && <p className="muted">You go on to <span className="mono">{localAddress(next).split('?')[0]}</span> afterwards.</p>}
        {singleSignOn && <a className={buttonClass('primary')} href={singleSignOn}>Single sign-on</a>}
        <TextField label="Access key id" value={accessKeyId} onChange={setAccessKeyId} autoComplete="username" autoFocus mono required />
        <TextField label="Secret access key" type="password" value={secret} onChange={setSecret} autoComplete="current-password" mono required />
        {error && <ErrorPanel error={error} />}
        <Button type="submit" kind="primary">{running ? 'Signing in…' : 'Sign in'}</Button>
        <p className="muted">An administrator creates keys: <code>tarn auth users credentials create</code>. The first one is in the file <code>admin-credentials</code> of the server's data directory.</p>
      </form>
    </main>
  );
}
