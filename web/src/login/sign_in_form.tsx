import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { ApiError, asError } from '@/api/errors';
import { setupStateQuery } from '@/api/session';
import { Button, buttonClass } from '@/ui/button';
import { TextField } from '@/ui/field';
import { ErrorPanel } from '@/ui/states';

interface SignInFormProps {
  className: string | undefined;
  onSignIn: (accessKeyId: string, secretAccessKey: string) => Promise<unknown>;
  /** Single sign-on opens another tab, because this one is kept. */
  keepsPage?: boolean;
  /** Above the fields. */
  children: ReactNode;
  /** Below the button. */
  footer: ReactNode;
}

/** The fields of a key pair, and a button for single sign-on where the server has one. */
export function SignInForm({ className, onSignIn, keepsPage, children, footer }: SignInFormProps) {
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
      await onSignIn(accessKeyId.trim(), secret.trim());
    } catch (thrown) {
      const failed = asError(thrown);
      const wrong = failed instanceof ApiError && failed.isUnauthenticated;
      setError(
        wrong
          ? new ApiError(400, config?.login_failed_message ?? failed.message, failed.reason, failed.requestId)
          : failed,
      );
    } finally {
      setRunning(false);
    }
  };
  return (
    <form
      className={className}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {children}
      {singleSignOn && (
        <a
          className={buttonClass('primary')}
          href={singleSignOn}
          {...(keepsPage ? { target: '_blank', rel: 'noopener' } : {})}
        >
          Single sign-on{keepsPage && ' in another tab'}
        </a>
      )}
      <TextField
        label="Access key id"
        value={accessKeyId}
        onChange={setAccessKeyId}
        autoComplete="username"
        autoFocus
        mono
        required
      />
      <TextField
        label="Secret access key"
        type="password"
        value={secret}
        onChange={setSecret}
        autoComplete="current-password"
        mono
        required
      />
      {error && <ErrorPanel error={error} />}
      <Button type="submit" kind="primary">
        {running ? 'Signing in…' : 'Sign in'}
      </Button>
      {footer}
    </form>
  );
}
