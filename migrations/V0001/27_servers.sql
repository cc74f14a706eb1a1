-- Servers, and the stores that this database owns.

-- One row is a server process over this database, for operators: each announces itself at its start and every 20 seconds
-- (core/meta/servers.h). Nothing depends on these rows. No index has seen_at: rows leave a day after their server was seen
-- last, and updates stay on their page.
CREATE TABLE servers (
  server_id  text COLLATE "C" PRIMARY KEY,          -- random, one for each process
  version    text NOT NULL,
  host       text NOT NULL,
  listen     text NOT NULL,                         -- the addresses, to be read by people
  started_at timestamptz NOT NULL,
  seen_at    timestamptz NOT NULL                   -- the time of the last announcement, by this database's clock
);

-- One row is a claim of a store: a nonce that a server of this database has written to the store of a repository as its
-- owner. A copy of the database that lacks the newest nonce of the store is not the owner (core/branch/store_owner.h). A
-- row is committed before its record is in the store.
CREATE TABLE store_claims (
  claim_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  repo_id    integer NOT NULL REFERENCES repositories (repo_id),
  nonce      text NOT NULL,
  claimed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX store_claims_repository ON store_claims (repo_id, claim_id);
