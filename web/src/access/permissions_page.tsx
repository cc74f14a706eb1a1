import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useId, useState } from 'react';
import { answer, api } from '@/api/client';
import { Button } from '@/ui/button';
import { TextField } from '@/ui/field';
import { EmptyState, Loaded } from '@/ui/states';
import { Badge } from '@/ui/text';
import { AccessFrame } from './access_frame';
import { policyQuery } from './access_queries';
import { ActionField } from './policies_page';
import styles from './access.module.css';

const route = getRouteApi('/signed-in/admin/permissions');

/** May a user do an action on a resource, and which statement decided. */
export function PermissionsPage() {
  const search = route.useSearch();
  const navigate = useNavigate();
  const list = useId();
  const [user, setUser] = useState(search.user ?? '');
  const [action, setAction] = useState(search.action ?? 'fs:ReadObject');
  const [resource, setResource] = useState(search.resource ?? '*');
  const asked = search.action !== undefined && search.resource !== undefined;
  return (
    <AccessFrame title="Permission check">
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          void navigate({
            to: '.',
            search: { user: user.trim() || undefined, action: action.trim(), resource: resource.trim() },
          });
        }}
      >
        <TextField label="User" value={user} onChange={setUser} mono help="Empty: you" />
        <ActionField id={list} label="Action" value={action} onChange={setAction} />
        <TextField
          label="Resource"
          value={resource}
          onChange={setResource}
          mono
          help="arn:lakefs:fs:::repository/digits/object/data/1.png"
        />
        <div style={{ paddingTop: 24 }}>
          <Button
            type="submit"
            kind="primary"
            refused={action.trim() === '' || resource.trim() === '' ? 'Enter an action and a resource' : undefined}
          >
            Check
          </Button>
        </div>
      </form>
      {asked ? (
        <Decision user={search.user} action={search.action!} resource={search.resource!} />
      ) : (
        <EmptyState icon="user">
          Ask whether a user may do something, as "fs:WriteObject" on one object; the answer names the statement that
          decides.
        </EmptyState>
      )}
    </AccessFrame>
  );
}

function Decision({ user, action, resource }: { user: string | undefined; action: string; resource: string }) {
  const check = useQuery({
    queryKey: ['access', 'check', user, action, resource],
    staleTime: 0,
    queryFn: async ({ signal }) =>
      (
        await answer(
          api.POST('/auth/permissions/check', {
            body: { ...(user === undefined ? {} : { user }), checks: [{ action, resource }] },
            signal,
          }),
        )
      ).results[0]!,
  });
  return (
    <Loaded query={check} rows={3}>
      {(result) => (
        <section className="panel stack-tight" aria-label="Decision">
          <p>
            <Badge kind={result.allowed ? 'added' : 'removed'}>{result.allowed ? 'allowed' : 'refused'}</Badge>{' '}
            {user ?? 'You'} {result.allowed ? 'may' : 'may not'} do <code>{action}</code> on{' '}
            <code style={{ overflowWrap: 'anywhere' }}>{resource}</code>.
          </p>
          <p>
            {result.decision === 'not_allowed' ? (
              'No statement of any policy of the user applies.'
            ) : result.policy === undefined ? (
              'Which statement decided is shown to those who may read the user.'
            ) : (
              <>
                Statement {(result.statement ?? 0) + 1} of{' '}
                <Link to="/admin/policies" search={{ policy: result.policy }} style={{ textDecoration: 'underline' }}>
                  {result.policy}
                </Link>{' '}
                {result.decision === 'denied' ? 'denies' : 'allows'} it:
              </>
            )}
          </p>
          {result.policy !== undefined && (
            <DecidingStatement policy={result.policy} statement={result.statement ?? 0} />
          )}
        </section>
      )}
    </Loaded>
  );
}

function DecidingStatement({ policy, statement }: { policy: string; statement: number }) {
  const found = useQuery(policyQuery(policy));
  return (
    <Loaded query={found} rows={3}>
      {(data) => (
        <pre className={styles.json} tabIndex={0}>
          {JSON.stringify(data.statement[statement], null, 2)}
        </pre>
      )}
    </Loaded>
  );
}
