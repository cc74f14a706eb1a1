import type { components } from '@/api/schema';
import { count, counted } from '@/ui/format';

type Server = components['schemas']['Server'];

/** The versions of the servers that are alive, in words; `differ` if there is more than one. */
export function serverVersions(servers: readonly Pick<Server, 'version' | 'alive'>[]): {
  text: string;
  differ: boolean;
} {
  const counts = new Map<string, number>();
  for (const server of servers) if (server.alive) counts.set(server.version, (counts.get(server.version) ?? 0) + 1);
  const alive = [...counts.values()].reduce((sum, some) => sum + some, 0);
  const versions = [...counts.keys()].sort((one, other) => one.localeCompare(other, 'en', { numeric: true }));
  if (versions.length === 0) return { text: 'No server has announced itself within a minute', differ: false };
  if (versions.length === 1)
    return {
      text:
        alive === 1
          ? `One server over this database, of version ${versions[0]}`
          : `${counted(alive, 'server')} over this database, all of version ${versions[0]}`,
      differ: false,
    };
  const each = versions.map((version) => `${count(counts.get(version)!)} of ${version}`);
  return {
    text: `${counted(alive, 'server')} over this database, of different versions: ${each.join(', ')}`,
    differ: true,
  };
}

/** Those that are alive first, then by name, so that no row moves while its server is seen again. */
export function inOrder(servers: readonly Server[]): Server[] {
  const name = (server: Server) => `${server.host} ${server.listen} ${server.id}`;
  return [...servers].sort(
    (one, other) =>
      Number(other.alive) - Number(one.alive) || name(one).localeCompare(name(other), 'en', { numeric: true }),
  );
}
