import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { accessChanged } from '@/access/access_queries';
import { answer, api, type Schemas } from '@/api/client';
import { useMay } from '@/api/permissions';
import { useUser } from '@/api/session';
import { recent } from '@/app/recent';
import { Code } from '@/preview/code';
import { Button } from '@/ui/button';
import { CopyButton } from '@/ui/copy_as';
import { Select } from '@/ui/field';
import { RefPicker } from '@/ui/ref_picker';
import { ErrorPanel, Loaded } from '@/ui/states';
import { downloadsQuery } from './downloads';
import { type Guide, guideOf, guides, noKey, type Place } from './guides';
import styles from './connect.module.css';

const repositoriesMax = 1000;
/** For users who may not list repositories: the lines are of use to them too. */
const noRepositories: Schemas['RepositoryList'] = {
  results: [],
  pagination: { has_more: false, next_offset: '', results: 0, max_per_page: repositoriesMax },
};
const route = getRouteApi('/signed-in/connect');

/** Lines to copy for each client, with this server, a repository, a branch and a new key in them. */
export function ConnectPage() {
  const search = route.useSearch();
  const navigate = useNavigate({ from: '/connect' });
  const repositories = useQuery({
    queryKey: ['repositories', 'connect'],
    queryFn: ({ signal }) =>
      answer(api.GET('/repositories', { params: { query: { amount: repositoriesMax } }, signal })),
  });
  const [key, setKey] = useState<Schemas['CredentialsWithSecret'] | null>(null);
  const guide = guideOf(search.client);
  const downloads = useQuery(downloadsQuery).data ?? [];
  return (
    <div className="page">
      <h1>Connect</h1>
      <p className="muted">
        Every client reads and writes the same branches: over REST, or as S3, where a bucket is a repository and a key
        begins with a branch.
      </p>
      {repositories.error && <ErrorPanel error={repositories.error} onRetry={() => void repositories.refetch()} />}
      <Loaded query={repositories.error ? { ...repositories, data: noRepositories } : repositories} rows={6}>
        {({ results, pagination }) => {
          const names = results.map((item) => item.id);
          const lately = recent('repositories').find((name) => names.includes(name));
          const repository = search.repository ?? lately ?? names[0];
          const branch = search.branch ?? results.find((item) => item.id === repository)?.default_branch ?? 'main';
          const shown = repository === undefined || names.includes(repository) ? names : [repository, ...names];
          const place: Place = {
            endpoint: window.location.origin,
            repository: repository ?? 'my-repository',
            branch,
            downloads,
            ...(key ? { accessKey: key.access_key_id, secretKey: key.secret_access_key } : noKey),
          };
          return (
            <>
              <section className={styles.place} aria-label="What is filled in">
                {repository === undefined ? (
                  <p>
                    {repositories.error ? 'The lines' : 'You see no repository yet: the lines'} say{' '}
                    <code>my-repository</code>.{' '}
                    {!repositories.error && (
                      <Link to="/" search={{ create: true }}>
                        Create a repository
                      </Link>
                    )}
                  </p>
                ) : (
                  <>
                    <Select
                      label="Repository"
                      value={repository}
                      options={shown.map((name) => ({ value: name, label: name }))}
                      help={
                        pagination.has_more ? 'The first 1,000; ?repository= in the address names others.' : undefined
                      }
                      onChange={(next) =>
                        void navigate({ search: { client: search.client, repository: next }, replace: true })
                      }
                    />
                    <div className="stack-tight" style={{ gap: 4 }}>
                      <span className={styles.label}>Branch</span>
                      <div>
                        <RefPicker
                          repository={repository}
                          value={branch}
                          label="Branch"
                          kinds={['branch']}
                          onChange={(next) =>
                            void navigate({ search: { ...search, repository, branch: next }, replace: true })
                          }
                        />
                      </div>
                    </div>
                  </>
                )}
                <NewKey made={key} onMade={setKey} />
              </section>
              <div className={styles.guide}>
                <Clients current={guide} />
                <Lines key={guide.id} guide={guide} place={place} hasKey={key !== null} />
              </div>
            </>
          );
        }}
      </Loaded>
    </div>
  );
}

/** A key of the signed-in user. It is kept in this page alone: leaving it forgets the secret. */
function NewKey({
  made,
  onMade,
}: {
  made: Schemas['CredentialsWithSecret'] | null;
  onMade: (key: Schemas['CredentialsWithSecret']) => void;
}) {
  const userId = useUser()?.id ?? '';
  const may = useMay('auth:CreateCredentials', `arn:lakefs:auth:::user/${userId}`);
  const [error, setError] = useState<unknown>(null);
  const [making, setMaking] = useState(false);
  const make = async () => {
    setError(null);
    setMaking(true);
    try {
      onMade(await answer(api.POST('/auth/users/{userId}/credentials', { params: { path: { userId } } })));
      accessChanged();
    } catch (thrown) {
      setError(thrown);
    } finally {
      setMaking(false);
    }
  };
  return (
    <div className={styles.key}>
      <span className={styles.label}>Key</span>
      {made ? (
        <p role="status">
          <code className={styles.keyId}>{made.access_key_id}</code> is in the lines below. Its secret is shown while
          this page is open, and never again.
        </p>
      ) : (
        <div className="toolbar">
          <Button
            icon="plus"
            kind="primary"
            refused={may.refused ?? (making ? 'The key is being created' : undefined)}
            onPress={() => void make()}
          >
            Create a key
          </Button>
          <span className="muted">
            or put yours in the place of <code>{noKey.accessKey}</code> and <code>{noKey.secretKey}</code>.
          </span>
        </div>
      )}
      {error !== null && <ErrorPanel error={error} />}
    </div>
  );
}

function Clients({ current }: { current: Guide }) {
  const search = route.useSearch();
  const groups = [...new Set(guides.map((guide) => guide.group))];
  return (
    <nav aria-label="Clients" className={styles.clients}>
      {groups.map((group) => (
        <div key={group} className={styles.group}>
          <h2 className={styles.heading}>{group}</h2>
          <ul>
            {guides
              .filter((guide) => guide.group === group)
              .map((guide) => (
                <li key={guide.id}>
                  <Link
                    to="/connect"
                    search={{ ...search, client: guide.id }}
                    replace
                    className={`${styles.client} ${guide === current ? styles.current : ''}`}
                    aria-current={guide === current ? 'page' : undefined}
                  >
                    {guide.label}
                  </Link>
                </li>
              ))}
          </ul>
        </div>
      ))}
    </nav>
  );
}

function Lines({ guide, place, hasKey }: { guide: Guide; place: Place; hasKey: boolean }) {
  const steps = guide.steps(place);
  const all = steps.map((step) => step.text).join('\n\n');
  const install = typeof guide.install === 'function' ? guide.install(place) : guide.install;
  const isOneProgram = new Set(steps.map((step) => step.language)).size === 1;
  return (
    <section aria-label={guide.label} className={styles.lines}>
      <div className="page-head">
        <h2 className="grow">{guide.label}</h2>
        {isOneProgram && <CopyButton text={`${all}\n`} label="Copy all" />}
      </div>
      {install !== undefined && <Lined title="Install" language="bash" text={install} />}
      {guide.install !== undefined && install === undefined && (
        <p className="muted">This server has no file of this client to hand out: install the one of its release.</p>
      )}
      {steps.map((step) => (
        <Lined key={step.title} {...step} />
      ))}
      {!hasKey && <p className="muted">Without a new key the lines have a placeholder for it.</p>}
    </section>
  );
}

function Lined({ title, language, text, note }: { title: string; language: string; text: string; note?: string }) {
  return (
    <figure className={styles.step}>
      <figcaption className={styles.caption}>
        <h3 className="grow">{title}</h3>
        <CopyButton text={`${text}\n`} label={`Copy ${title}`} />
      </figcaption>
      {note && <p className="muted">{note}</p>}
      <div className={styles.code}>
        <Code text={text} language={language} label={title} />
      </div>
    </figure>
  );
}
