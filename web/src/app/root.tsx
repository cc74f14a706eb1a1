import { Outlet } from '@tanstack/react-router';
import { connection, useIsConnected } from '@/api/connection';
import { Button } from '@/ui/button';
import { Toasts } from '@/ui/toast';
import styles from './root.module.css';

export function Root() {
  return (
    <>
      <LostServer />
      <Outlet />
      <Toasts />
    </>
  );
}

function LostServer() {
  const isConnected = useIsConnected();
  return (
    <div role="status">
      {!isConnected && (
        <div className={styles.lost}>
          <span>The server does not answer. This page goes on when it is back.</span>
          <Button onPress={() => connection.retry()}>Try now</Button>
        </div>
      )}
    </div>
  );
}
