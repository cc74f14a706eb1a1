import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useNavigate, useParams, useRouterState } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { answer, api } from '@/api/client';
import { resource, useMay } from '@/api/permissions';
import { configQuery, signOut, useUser } from '@/api/session';
import { Button, IconButton } from '@/ui/button';
import { counted } from '@/ui/format';
import { useCurrentInView } from '@/ui/current_in_view';
import { Icon } from '@/ui/icon';
import { Menu, MenuItem, MenuSeparator } from '@/ui/menu';
import { Name } from '@/ui/text';
import { repositoryQuery } from './repository_query';
import { offered, repositoryNavigation, serverNavigation } from './navigation';
import { Palette } from './palette';
import { recent, remember } from './recent';
import { ShortcutHelp } from './shortcut_help';
import { type Shortcut, useShortcuts } from './shortcuts';
import { applyTheme, type Theme, useTheme } from './theme';
import styles from './shell.module.css';

const operationsPollMs = 5000;

/** The repository and the ref that the address names; without a ref, the one that was last seen, or the default branch. */
function useContext() {
  const params = useParams({ strict: false });
  const repository = params.repository;
  const loaded = useQuery({ ...repositoryQuery(repository ?? ''), enabled: repository !== undefined });
  const named = params.ref;
  useEffect(() => {
    if (repository !== undefined && named !== undefined) remember(`refs.${repository}`, named);
  }, [repository, named]);
  useEffect(() => {
    if (repository !== undefined) remember('repositories', repository);
  }, [repository]);
  const ref =
    named ?? (repository === undefined ? undefined : (recent(`refs.${repository}`)[0] ?? loaded.data?.default_branch));
  return { repository, ref, defaultBranch: loaded.data?.default_branch };
}

export function Shell() {
  const { repository, ref, defaultBranch } = useContext();
  const navigate = useNavigate();
  const [palette, setPalette] = useState(false);
  const [help, setHelp] = useState(false);
  const serverItems = offered(serverNavigation, useMay('auth:ListUsers', resource.all).allowed);
  const inRepository = repository !== undefined && ref !== undefined;
  const links = useCurrentInView<HTMLElement>(
    useRouterState({ select: (state) => `${inRepository} ${state.resolvedLocation?.pathname}` }),
  );

  const shortcuts: Shortcut[] = [
    { keys: 'mod+k', does: 'search or jump to anything', run: () => setPalette(true) },
    {
      keys: '/',
      does: 'search',
      run: () => {
        const field = document.querySelector<HTMLInputElement>('main [type=search]');
        if (field) field.focus();
        else setPalette(true);
      },
    },
    { keys: '?', does: 'this help', run: () => setHelp(true) },
    ...(inRepository
      ? repositoryNavigation.map((item) => ({
          keys: `g ${item.key}`,
          does: `go to ${item.label}`,
          run: () => void navigate({ to: item.to, params: { repository, ref } }),
        }))
      : []),
    ...serverItems.map((item) => ({
      keys: `g ${item.key}`,
      does: `go to ${item.label}`,
      run: () => void navigate({ to: item.to }),
    })),
  ];
  useShortcuts(shortcuts);

  return (
    <div className={styles.shell}>
      <a
        className={styles.skip}
        href="#content"
        onClick={(event) => {
          event.preventDefault();
          document.getElementById('content')?.focus();
        }}
      >
        Skip to content
      </a>
      <header className={styles.top}>
        <Link to="/" className={styles.logo} aria-label="Tarn: repositories">
          <Logo />
          <span>tarn</span>
        </Link>
        {repository !== undefined && (
          <Link
            to="/r/$repository/$ref/data"
            params={{ repository, ref: ref ?? defaultBranch ?? 'main' }}
            search={{}}
            className={styles.repository}
          >
            <Name>{repository}</Name>
          </Link>
        )}
        <button type="button" className={styles.search} onClick={() => setPalette(true)}>
          <Icon name="search" />
          <span className={styles.searchText}>Search or jump to…</span>
          <kbd aria-hidden="true">Ctrl K</kbd>
        </button>
        <Operations />
        <span className={styles.wideOnly}>
          <IconButton icon="help" label="Keyboard help" onPress={() => setHelp(true)} />
        </span>
        <ThemeMenu />
        <UserMenu />
      </header>
      <nav ref={links} className={styles.side} aria-label="Main">
        <ul>
          {inRepository
            ? repositoryNavigation.map((item) => (
                <li key={item.to}>
                  <Link
                    to={item.to}
                    params={{ repository, ref }}
                    className={styles.item}
                    activeProps={{ className: styles.current!, 'aria-current': 'page' }}
                  >
                    <Icon name={item.icon} />
                    {item.label}
                  </Link>
                </li>
              ))
            : serverItems.map((item) => (
                <li key={item.to}>
                  <Link
                    to={item.to}
                    className={styles.item}
                    activeOptions={{ exact: item.to === '/' }}
                    activeProps={{ className: styles.current!, 'aria-current': 'page' }}
                  >
                    <Icon name={item.icon} />
                    {item.label}
                  </Link>
                </li>
              ))}
        </ul>
      </nav>
      <main id="content" tabIndex={-1} className={styles.content}>
        <Title />
        <Outlet />
      </main>
      <Palette isOpen={palette} onClose={() => setPalette(false)} repository={repository} currentRef={ref} />
      <ShortcutHelp isOpen={help} onClose={() => setHelp(false)} shortcuts={shortcuts} />
    </div>
  );
}

/** The title of the window says where one is. */
function Title() {
  const params = useParams({ strict: false });
  const path = useRouterState({ select: (state) => state.location.pathname });
  useEffect(() => {
    const page = path
      .split('/')
      .filter(Boolean)
      .at(params.repository ? -1 : 0);
    document.title = [params.repository, params.ref, page !== params.repository ? page : undefined, 'Tarn']
      .filter(Boolean)
      .join(' · ');
  }, [params, path]);
  return null;
}

function Logo() {
  return (
    <svg width="20" height="20" viewBox="0 0 24 24" aria-hidden="true">
      <path fill="var(--accent)" d="M12 1 23 12 12 23 1 12Z" />
      <path fill="var(--bg)" d="M12 7.500 16.500 12 12 16.500 7.500 12Z" />
    </svg>
  );
}

/** How many of the caller's long requests are running. */
function Operations() {
  const running = useQuery({
    queryKey: ['operations', 'running'],
    queryFn: ({ signal }) => answer(api.GET('/operations', { signal })),
    refetchInterval: operationsPollMs,
    retry: false,
  });
  const count =
    running.data?.results.filter((item) => item.state === 'running' || item.state === 'cancelling').length ?? 0;
  if (count === 0) return null;
  return (
    <Link to="/admin/operations" className={styles.running} title={`${counted(count, 'operation')} running`}>
      {count} running
    </Link>
  );
}

const themes: { id: Theme; label: string }[] = [
  { id: 'system', label: 'As the system' },
  { id: 'light', label: 'Light' },
  { id: 'dark', label: 'Dark' },
];

function ThemeMenu() {
  const theme = useTheme();
  return (
    <Menu label="Theme" trigger={<IconButton icon="theme" label="Theme" />}>
      {themes.map((item) => (
        <MenuItem
          key={item.id}
          {...(theme === item.id ? { icon: 'check' as const } : {})}
          onAction={() => applyTheme(item.id)}
        >
          {item.label}
        </MenuItem>
      ))}
    </Menu>
  );
}

function UserMenu() {
  const user = useUser();
  const navigate = useNavigate();
  const mayListUsers = useMay('auth:ListUsers', resource.all).allowed;
  const version = useQuery(configQuery).data?.version_config?.tarn_version;
  return (
    <Menu
      label="Account"
      trigger={
        <Button kind="quiet" icon="user" className={styles.user!} aria-label={`Account of ${user?.id ?? ''}`}>
          <span className={styles.userName}>
            <Name>{user?.id ?? ''}</Name>
          </span>
        </Button>
      }
    >
      <MenuItem icon="plug" onAction={() => void navigate({ to: '/connect' })}>
        Connect a client
      </MenuItem>
      {mayListUsers && (
        <MenuItem icon="user" onAction={() => void navigate({ to: '/admin/users' })}>
          Users and keys
        </MenuItem>
      )}
      <MenuSeparator />
      <MenuItem
        icon="arrowLeft"
        detail={version ? `Tarn ${version}` : undefined}
        onAction={() => void signOut().then(() => navigate({ to: '/login' }))}
      >
        Sign out
      </MenuItem>
    </Menu>
  );
}
