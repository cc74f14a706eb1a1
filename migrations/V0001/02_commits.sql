-- Commits.

-- One row is a commit. root_nid names its tree: NULL is the empty tree, and a negative number is that of the row in
-- commit_expiries which tells why the tree is gone. made_by, makers, stored_at and changed_paths are no part of the commit's id.
CREATE TABLE commits (
  repo_id       integer NOT NULL,
  commit_id     bytea NOT NULL,
  generation    bigint NOT NULL,
  parents       bytea[] NOT NULL,
  root_nid      bigint,
  root_hash     bytea NOT NULL,
  committer     text NOT NULL,
  message       text NOT NULL,
  metadata      text[] NOT NULL,
  created_ms    bigint NOT NULL,
  -- The user who made or recorded the commit, whatever committer it shows; NULL: nobody. It is a name, since a user who is
  -- deleted and created again must not approve what the earlier one made.
  made_by       text,
  -- Other users whose work is in the commit: who staged its changes or made what was copied into it, and the makers of
  -- commits that were squashed or cherry-picked; names, as made_by.
  makers        text[] NOT NULL DEFAULT '{}',
  -- The time at which the commit was stored, which clients do not choose.
  stored_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The paths that the commit changed, stored as core/tree/changed_paths.h describes; NULL: not known yet.
  -- A job fills in those of restored dumps.
  changed_paths bytea,
  PRIMARY KEY (repo_id, commit_id)
);
CREATE INDEX commits_without_changed_paths ON commits (repo_id, generation) WHERE changed_paths IS NULL;
CREATE TRIGGER commits_in_repository BEFORE INSERT ON commits FOR EACH ROW EXECUTE FUNCTION require_repository();

-- The only row is the lease of the job that fills in changed_paths: one server at a time runs it
-- (core/branch/change_index.h).
CREATE TABLE change_index (
  id          boolean PRIMARY KEY DEFAULT true CHECK (id),
  lease_owner bigint,
  lease_until timestamptz
);
INSERT INTO change_index DEFAULT VALUES;
