import { getRouteApi, useRouter } from '@tanstack/react-router';
import { signIn } from '@/api/session';
import { localAddress } from './local_address';
import { SignInForm } from './sign_in_form';
import styles from './login.module.css';

const route = getRouteApi('/login');

export function LoginPage() {
  const { next } = route.useSearch();
  const router = useRouter();
  const enter = async (accessKeyId: string, secret: string) => {
    await signIn(accessKeyId, secret);
    await router.navigate({ href: localAddress(next), replace: true });
  };
  return (
    <main className={styles.page}>
      <SignInForm
        className={styles.card}
        onSignIn={enter}
        footer={
          <p className="muted">
            An administrator creates keys: <code>tarn auth credentials create USER</code>. The first one is in the file{' '}
            <code>admin-credentials</code> of the server's data directory.
          </p>
        }
      >
        <img src="/icon.svg" width={40} height={40} alt="" />
        <h1>Sign in to Tarn</h1>
        {next && (
          <p className="muted">
            You go on to <span className="mono">{localAddress(next).split('?')[0]}</span> afterwards.
          </p>
        )}
      </SignInForm>
    </main>
  );
}
