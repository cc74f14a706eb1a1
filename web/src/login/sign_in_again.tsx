import { useEffect, useId, useState } from 'react';
import { createPortal } from 'react-dom';
import { resumeSession, signInAgain, useUser } from '@/api/session';
import { SignInForm } from './sign_in_form';
import styles from './login.module.css';

/** The login above a page whose session has ended. The page is hidden and kept: what was typed, chosen and uploaded so far is there again afterwards. */
export function SignInAgain() {
  const title = useId();
  const [before] = useState(useUser()?.id ?? '');
  useEffect(() => {
    // A login in another tab, or by single sign-on, is one of this page too.
    const look = () => {
      if (!document.hidden) void resumeSession(before).catch(() => undefined);
    };
    window.addEventListener('focus', look);
    document.addEventListener('visibilitychange', look);
    return () => {
      window.removeEventListener('focus', look);
      document.removeEventListener('visibilitychange', look);
    };
  }, [before]);
  const show = (dialog: HTMLDialogElement | null) => {
    if (dialog && !dialog.open) dialog.showModal();
  };
  // The browser's own dialog, marked so that an open one of React Aria lets the focus go there, and outside of what that one made inert.
  return createPortal(
    <dialog
      ref={show}
      data-react-aria-top-layer="true"
      className={styles.above}
      aria-labelledby={title}
      onKeyDown={(event) => {
        if (event.key === 'Escape') event.preventDefault();
      }}
      onCancel={(event) => event.preventDefault()}
      onClose={(event) => show(event.currentTarget)}
    >
      <SignInForm
        className={styles.card}
        keepsPage
        onSignIn={(accessKeyId, secret) => signInAgain(accessKeyId, secret, before)}
        footer={
          <p className="muted">
            To end without signing in, close the tab, or <a href="/login">go to the login</a> and lose what was typed.
          </p>
        }
      >
        <h1 id={title}>Sign in to Tarn</h1>
        <p>
          Your session has ended{before && <>, {before}</>}. The page is kept as it is, with what you typed, and goes on
          when you have signed in.
        </p>
      </SignInForm>
    </dialog>,
    document.body,
  );
}
