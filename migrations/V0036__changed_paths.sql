-- The paths that commits changed, for the log of a path: a new column, an index and a table. Rows of commits are not written now: a
-- job fills the column of older ones (core/branch/change_index.h), and until then the log compares trees. The index is
-- of about 40 bytes a commit at first and empties with the job; commits wait while it is built (a second per million commits).
--
-- The column is no part of a commit's id. NULL: not known yet; else as core/tree/changed_paths.h stores it. A transaction that
-- publishes says it in tarn.changed_paths, in hex.
ALTER TABLE commits ADD COLUMN changed_paths bytea;
ALTER TABLE commits ALTER COLUMN changed_paths
  SET DEFAULT decode(nullif(current_setting('tarn.changed_paths', true), ''), 'hex');
CREATE INDEX commits_without_changed_paths ON commits (repo_id, generation) WHERE changed_paths IS NULL;

-- One row: one server at a time fills the column.
CREATE TABLE change_index (
  id          boolean PRIMARY KEY DEFAULT true CHECK (id),
  lease_owner bigint,
  lease_until timestamptz
);
INSERT INTO change_index DEFAULT VALUES;
