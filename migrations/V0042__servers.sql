-- Server processes over this database, for operators: each announces itself at its start and every 20 seconds
-- (core/meta/servers.h). Nothing depends on these rows. A new table; nothing existing is locked or rewritten.
--
-- No index on seen_at: rows leave a day after their server was seen last, and updates stay on their page.

CREATE TABLE servers (
  server_id  text COLLATE "C" PRIMARY KEY,          -- random, one for each process
  version    text NOT NULL,
  host       text NOT NULL,
  listen     text NOT NULL,                         -- the addresses, to be read by people
  started_at timestamptz NOT NULL,
  seen_at    timestamptz NOT NULL                   -- of the last announcement, by this database's clock
);
