-- Backups and what they hold back from garbage collection.
--
-- A backup refers to objects of the store as its snapshot of the database does. Collections remove none of them while the
-- backup holds: only candidates that were found, and whose fence was passed, before the snapshot was taken. Nothing in the
-- snapshot refers to those, since whatever refers to a candidate again deletes its row (rescue_objects).

-- One row is a backup.
CREATE TABLE backups (
  backup_id      text COLLATE "C" PRIMARY KEY,
  target         text NOT NULL,
  state          text NOT NULL CHECK (state IN ('running', 'complete', 'released')),
  copies_objects boolean NOT NULL,
  started_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  completed_at   timestamptz,                       -- the manifest was written; NULL: there is none
  held_until     timestamptz,                       -- NULL: holds nothing any more
  newest_repository integer                         -- in the snapshot; NULL: it was not taken yet
);

-- One row is, for a repository, the newest collection whose candidates may go while the backup holds.
CREATE TABLE backup_repositories (
  backup_id text COLLATE "C" NOT NULL REFERENCES backups ON DELETE CASCADE,
  repo_id   integer NOT NULL,
  run       bigint NOT NULL,
  PRIMARY KEY (backup_id, repo_id)
);

-- Returns the newest collection whose candidates may be removed while backups hold objects: those of later ones stay. A
-- repository may have been created between the hold and the snapshot: then it has no row, and all of its candidates stay.
-- Called by gc::Candidates.
CREATE FUNCTION held_collection(p_repo integer) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT coalesce(min(coalesce(r.run, CASE WHEN p_repo > b.newest_repository THEN 9223372036854775807 ELSE 0 END)),
                  9223372036854775807)
  FROM backups b LEFT JOIN backup_repositories r ON r.backup_id = b.backup_id AND r.repo_id = p_repo
  WHERE b.held_until > clock_timestamp()
$$;
