import { useQuery } from '@tanstack/react-query';
import { answer, api } from '@/api/client';
import { useMay } from '@/api/permissions';
import { useNarrow } from '@/ui/data_table';
import { Icon } from '@/ui/icon';
import { Loaded } from '@/ui/states';
import { Badge, Name, Time } from '@/ui/text';
import { inOrder, serverVersions } from './server_versions';
import styles from './operations.module.css';

/** As often as servers announce themselves. */
const pollMs = 20_000;

/** The servers over the same database, for those who may see them; nothing for others. */
export function Servers() {
  const may = useMay('auth:ListUsers', '*');
  const narrow = useNarrow();
  const shown = may.known && may.allowed;
  const servers = useQuery({
    queryKey: ['server', 'servers'],
    queryFn: ({ signal }) => answer(api.GET('/config/servers', { signal })),
    refetchInterval: pollMs,
    enabled: shown,
  });
  if (!shown) return null;
  return (
    <section className="stack-tight" aria-label="Servers">
      <h2>Servers</h2>
      <Loaded query={servers} rows={2}>
        {({ results }) => {
          const versions = serverVersions(results);
          return (
            <>
              <p role="status" className={versions.differ ? styles.coming : 'muted'}>
                {versions.differ && <Icon name="error" />}
                <span className={styles.sentence}>{versions.text}.</span>
              </p>
              {results.length > 0 && (
                <table className={styles.table}>
                  <caption className="visually-hidden">Servers over this database</caption>
                  <thead>
                    <tr>
                      <th scope="col">Host</th>
                      {!narrow && (
                        <>
                          <th scope="col">Listens on</th>
                          <th scope="col">Version</th>
                          <th scope="col">Started</th>
                        </>
                      )}
                      <th scope="col">Last seen</th>
                      <th scope="col">State</th>
                    </tr>
                  </thead>
                  <tbody>
                    {inOrder(results).map((server) => (
                      <tr key={server.id}>
                        <th scope="row">
                          <span className={styles.host}>
                            <Name>{server.host || 'unknown'}</Name>
                            {server.answering && <Badge kind="accent">this one</Badge>}
                          </span>
                          {narrow && (
                            <div className="muted">
                              <Name>{server.listen}</Name>
                              <div>
                                {server.version}, started <Time at={server.start_date} />
                              </div>
                            </div>
                          )}
                        </th>
                        {!narrow && (
                          <>
                            <td>{server.listen}</td>
                            <td>{server.version}</td>
                            <td>
                              <Time at={server.start_date} />
                            </td>
                          </>
                        )}
                        <td>
                          <Time at={server.seen_date} />
                        </td>
                        <td>
                          {server.alive ? (
                            <Badge kind="added">alive</Badge>
                          ) : (
                            <span title="It was not seen for a minute and did not say that it stops. It is listed for a day.">
                              <Badge kind="removed">gone</Badge>
                            </span>
                          )}
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              )}
            </>
          );
        }}
      </Loaded>
    </section>
  );
}
