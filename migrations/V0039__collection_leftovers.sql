-- Garbage collection: leftovers of collections that ended early, and of what ran beside them. The primary key of the table
-- sstables is built again; it has a row for each range that a client has requested.

-- Several nodes may have a hash. Each has a row of its own, which goes with it.
ALTER TABLE sstables DROP CONSTRAINT sstables_pkey, ADD PRIMARY KEY (repo_id, kind, hash, nid);

-- Whether a collection ended before it gave the space of the rows back that it had removed: the next one does.
ALTER TABLE gc_control ADD COLUMN space_due boolean NOT NULL DEFAULT false;

-- failures: of collections that failed one after the other. retry_at: when a request is repeated that failed; NULL: at once.
ALTER TABLE gc_repositories
  ADD COLUMN failures integer NOT NULL DEFAULT 0,
  ADD COLUMN retry_at timestamptz;
