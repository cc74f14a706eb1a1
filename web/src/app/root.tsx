import { Outlet } from '@tanstack/react-router';
import { Suspense, lazy } from 'react';
import { connection, useConnection, useUnreadyReason } from '@/api/connection';
import { useSessionEnded } from '@/api/session_end';
import { Button } from '@/ui/button';
import { Toasts } from '@/ui/toast';
import styles from './root.module.css';

const SignInAgain = lazy(() => import('@/login/sign_in_again').then((module) => ({ default: module.SignInAgain })));

export function Root() {
  const ended = useSessionEnded();
  return (
    <>
      <LostServer />
      <Outlet />
      {ended && (
        <Suspense>
          <SignInAgain />
        </Suspense>
      )}
      <Toasts />
    </>
  );
}

function LostServer() {
  const state = useConnection();
  const reason = useUnreadyReason();
  return (
    <div role="status">
      {state !== 'up' && (
        <div className={styles.lost}>
          <span>
            {state === 'lost' ? 'The server does not answer.' : 'The server is not ready.'} This page goes on when it is
            back.
            {reason && <small className={styles.reason}>{reason}</small>}
          </span>
          <Button onPress={() => connection.retry()}>Try now</Button>
        </div>
      )}
    </div>
  );
}
