import type { IconName } from '@/ui/icon';

export interface NavigationItem {
  label: string;
  icon: IconName;
  /** After "g", leads there. */
  key: string;
  /** Below /r/REPOSITORY/REF/ or, without a ref, below /r/REPOSITORY/-/ . */
  to:
    | '/r/$repository/$ref/data'
    | '/r/$repository/$ref/changes'
    | '/r/$repository/$ref/history'
    | '/r/$repository/-/branches'
    | '/r/$repository/-/requests'
    | '/r/$repository/-/runs'
    | '/r/$repository/-/promotions'
    | '/r/$repository/-/automation'
    | '/r/$repository/-/settings';
}

/** Pages of a repository, in the order of the side navigation. */
export const repositoryNavigation: readonly NavigationItem[] = [
  { label: 'Data', icon: 'data', key: 'd', to: '/r/$repository/$ref/data' },
  { label: 'Changes', icon: 'diff', key: 'c', to: '/r/$repository/$ref/changes' },
  { label: 'History', icon: 'history', key: 'h', to: '/r/$repository/$ref/history' },
  { label: 'Branches', icon: 'branch', key: 'b', to: '/r/$repository/-/branches' },
  { label: 'Pull requests', icon: 'request', key: 'p', to: '/r/$repository/-/requests' },
  { label: 'Runs', icon: 'chart', key: 'x', to: '/r/$repository/-/runs' },
  { label: 'Promotion', icon: 'promote', key: 'm', to: '/r/$repository/-/promotions' },
  { label: 'Automation', icon: 'automation', key: 'a', to: '/r/$repository/-/automation' },
  { label: 'Settings', icon: 'settings', key: 's', to: '/r/$repository/-/settings' },
];

/** Pages of the server that its navigation reaches by tabs. */
export const serverPages = [
  { label: 'Groups', icon: 'user', to: '/admin/groups' },
  { label: 'Policies', icon: 'user', to: '/admin/policies' },
  { label: 'Permission check', icon: 'user', to: '/admin/permissions' },
  { label: 'Jobs: imports, verifications', icon: 'server', to: '/admin/jobs' },
  { label: 'Server: health and figures', icon: 'server', to: '/admin/server' },
  { label: 'Background requests', icon: 'server', to: '/admin/operations' },
  { label: 'Configuration', icon: 'server', to: '/admin/configuration' },
  { label: 'Storage and collection', icon: 'server', to: '/admin/storage' },
  { label: 'Deleted repositories', icon: 'trash', to: '/admin/deleted' },
] as const satisfies readonly { label: string; icon: IconName; to: string }[];

/** Pages of the server. */
export const serverNavigation = [
  { label: 'Repositories', icon: 'data', key: 'r', to: '/' },
  { label: 'Access', icon: 'user', key: 'u', to: '/admin/users' },
  { label: 'Operations', icon: 'server', key: 'o', to: '/admin/server' },
  { label: 'Connect', icon: 'plug', key: 'n', to: '/connect' },
] as const satisfies readonly { label: string; icon: IconName; key: string; to: string }[];

/** Pages for users who may list users. */
const accessPages: readonly string[] = ['/admin/users', '/admin/groups', '/admin/policies'];

/** The pages that a user is offered. */
export function offered<Page extends { to: string }>(pages: readonly Page[], mayListUsers: boolean): Page[] {
  return pages.filter(({ to }) => mayListUsers || !accessPages.includes(to));
}
