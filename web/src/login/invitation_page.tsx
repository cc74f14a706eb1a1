import { useRouter } from '@tanstack/react-router';
import { useState } from 'react';
import { answer, api, type Schemas } from '@/api/client';
import { asError } from '@/api/errors';
import { signIn } from '@/api/session';
import { Button } from '@/ui/button';
import { CopyAs } from '@/ui/copy_as';
import { shellWord } from '@/ui/snippets';
import { ErrorPanel } from '@/ui/states';
import { KeyPair } from './key_pair';
import styles from './login.module.css';

type Accepted = Schemas['AcceptedInvitation'];

/**
 * The page of an invitation's link. Programs that look at links for their readers do not use it up: a press of the button does. The
 * token is behind the # of the address, which no server sees, until then.
 */
export function InvitationPage() {
  const router = useRouter();
  const [accepted, setAccepted] = useState<Accepted | null>(null);
  const [running, setRunning] = useState(false);
  const [error, setError] = useState<Error | null>(null);

  const submit = async () => {
    if (running) return;
    setRunning(true);
    setError(null);
    try {
      if (accepted) {
        await signIn(accepted.access_key_id, accepted.secret_access_key);
        await router.navigate({ to: '/', replace: true });
      } else {
        setAccepted(
          await answer(api.POST('/auth/invitations/accept', { body: { token: window.location.hash.slice(1) } })),
        );
        window.history.replaceState(window.history.state, '', window.location.pathname);
      }
    } catch (thrown) {
      setError(asError(thrown));
    } finally {
      setRunning(false);
    }
  };
  return (
    <main className={styles.page}>
      <form
        className={styles.card}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <img src="/icon.svg" width={40} height={40} alt="" />
        <h1>{accepted ? `Your key, ${accepted.user_id}` : 'Make your access key'}</h1>
        {accepted ? (
          <>
            <p>Keep both where you keep passwords: the secret is not shown again, and the link opens nothing more.</p>
            <KeyPair keys={accepted} />
            <div>
              <CopyAs snippets={snippets(accepted)} />
            </div>
          </>
        ) : (
          <p>
            An administrator of this server made this link for you alone. It works once: the key and its secret are
            shown to whoever presses the button first.
          </p>
        )}
        {error && <ErrorPanel error={error} />}
        <Button type="submit" kind="primary" refused={running ? 'One moment' : undefined}>
          {accepted ? 'I have saved them: sign in' : 'Make the key'}
        </Button>
      </form>
    </main>
  );
}

function snippets(keys: Accepted) {
  const variables = [
    `export TARN_ENDPOINT=${shellWord(window.location.origin)}`,
    `export TARN_ACCESS_KEY=${shellWord(keys.access_key_id)}`,
    `export TARN_SECRET_KEY=${shellWord(keys.secret_access_key)}`,
  ].join('\n');
  return [
    { label: 'Environment of a shell', text: variables },
    { label: 'Login of the tarn command', text: `${variables}\ntarn auth login` },
  ];
}
