import { describe, expect, it } from 'vitest';
import { inOrder, serverVersions } from './server_versions';

const server = (version: string, alive = true) => ({ version, alive });

describe('versions of servers', () => {
  it('are one when all are alike', () => {
    expect(serverVersions([server('1.2.0')])).toEqual({
      text: 'One server over this database, of version 1.2.0',
      differ: false,
    });
    expect(serverVersions([server('1.2.0'), server('1.2.0')])).toEqual({
      text: '2 servers over this database, all of version 1.2.0',
      differ: false,
    });
  });
  it('are counted in their order when they differ', () => {
    expect(serverVersions([server('1.10.0'), server('1.9.0'), server('1.10.0')])).toEqual({
      text: '3 servers over this database, of different versions: 1 of 1.9.0, 2 of 1.10.0',
      differ: true,
    });
  });
  it('are those of servers that are alive', () => {
    expect(serverVersions([server('1.2.0'), server('1.1.0', false)])).toEqual({
      text: 'One server over this database, of version 1.2.0',
      differ: false,
    });
    expect(serverVersions([server('1.1.0', false)])).toEqual({
      text: 'No server has announced itself within a minute',
      differ: false,
    });
  });
});

describe('rows of servers', () => {
  it('keep their places when one is seen again', () => {
    const row = (host: string, seen: number, alive = true) => ({
      id: host,
      version: '1',
      host,
      listen: '127.0.0.1:8000',
      start_date: 0,
      seen_date: seen,
      alive,
      answering: false,
    });
    const hosts = (...rows: ReturnType<typeof row>[]) => inOrder(rows).map((server) => server.host);
    expect(hosts(row('lake-10', 3), row('lake-2', 2), row('lake-1', 1))).toEqual(['lake-1', 'lake-2', 'lake-10']);
    expect(hosts(row('lake-1', 9), row('lake-2', 2), row('lake-10', 3))).toEqual(['lake-1', 'lake-2', 'lake-10']);
    expect(hosts(row('lake-1', 0, false), row('lake-2', 2))).toEqual(['lake-2', 'lake-1']);
  });
});
