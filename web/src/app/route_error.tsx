import { type ErrorComponentProps, useRouter } from '@tanstack/react-router';
import { useEffect } from 'react';
import { connection, useConnection } from '@/api/connection';
import { ErrorPanel } from '@/ui/states';

/** A page that could not be loaded; it loads by itself when a lost server is back. */
export function RouteError({ error, reset }: ErrorComponentProps) {
  const router = useRouter();
  const isConnected = useConnection() === 'up';
  const retry = () => {
    reset();
    void router.invalidate();
  };
  useEffect(() => {
    const before = connection.onReturn;
    connection.onReturn = () => {
      before();
      retry();
    };
    return () => {
      connection.onReturn = before;
    };
  });
  return (
    <div className="page">
      <h1>{isConnected ? 'This page cannot be shown' : 'The server does not answer'}</h1>
      <ErrorPanel error={error} onRetry={retry} />
    </div>
  );
}
