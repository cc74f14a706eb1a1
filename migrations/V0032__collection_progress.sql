-- Garbage collection: progress of the run, its cancellation, and the objects that a store did not remove. New columns with
-- constant defaults, and a check of the small table gc_runs, which is read once.

ALTER TABLE gc_runs
  ADD COLUMN step            text NOT NULL DEFAULT '',     -- what the run is doing, as docs/garbage-collection.md lists
  ADD COLUMN step_started_ms bigint NOT NULL DEFAULT 0,
  ADD COLUMN step_done       bigint NOT NULL DEFAULT 0,    -- nodes or objects
  ADD COLUMN step_total      bigint NOT NULL DEFAULT 0,    -- an estimate; 0 = unknown
  ADD COLUMN cancelled_by    text COLLATE "C",             -- the user who asked it to end
  ADD COLUMN failures        text[] NOT NULL DEFAULT '{}', -- the first ones: path and message
  DROP CONSTRAINT gc_runs_state_check,
  ADD CONSTRAINT gc_runs_state_check
    CHECK (state IN ('running', 'done', 'refused', 'failed', 'interrupted', 'cancelled'));

-- Readings of metric files go when no commit's metrics name them any more. An index on metrics, which blocks the recording of
-- metrics while it is built (seconds per million rows). The readings of today count as new.
ALTER TABLE metric_files ADD COLUMN stored_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE metric_files ALTER COLUMN stored_at SET DEFAULT clock_timestamp();
CREATE INDEX metrics_by_file ON metrics (repo_id, file_id) WHERE file_id IS NOT NULL;

-- The branches that led to commits which nothing reaches now, so that plans and reports can name them. Rows go when the commits
-- have gone, or are reached by others at the end of their retention.
CREATE TABLE gc_branches (
  repo_id    integer NOT NULL,
  commit_id  bytea NOT NULL,                            -- the head when the branch was deleted
  name       text COLLATE "C" NOT NULL,
  deleted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (repo_id, commit_id, name)
);

CREATE FUNCTION note_deleted_branch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO gc_branches (repo_id, commit_id, name) VALUES (OLD.repo_id, OLD.head, OLD.name)
  ON CONFLICT (repo_id, commit_id, name) DO UPDATE SET deleted_at = excluded.deleted_at;
  RETURN NULL;
END
$$;
CREATE TRIGGER branches_note_garbage AFTER DELETE ON branches
  FOR EACH ROW EXECUTE FUNCTION note_deleted_branch();

-- reason: core/gc/garbage.h. branch: that led to it; '' = not known.
-- removed_in: the number of the removal (gc_control.removals). Servers read it to remove their own copies of the object.
ALTER TABLE gc_control ADD COLUMN removals_purged bigint NOT NULL DEFAULT 0;
ALTER TABLE gc_candidates
  ADD COLUMN removed_in bigint,
  ADD COLUMN reason smallint NOT NULL DEFAULT 4,
  ADD COLUMN branch text COLLATE "C" NOT NULL DEFAULT '';

CREATE INDEX gc_candidates_removed ON gc_candidates (removed_in) WHERE removed_in IS NOT NULL;

-- What was removed, by reason and branch: four arrays of the same length.
ALTER TABLE gc_runs
  ADD COLUMN group_reasons  smallint[] NOT NULL DEFAULT '{}',
  ADD COLUMN group_branches text[] NOT NULL DEFAULT '{}',
  ADD COLUMN group_objects  bigint[] NOT NULL DEFAULT '{}',
  ADD COLUMN group_bytes    bigint[] NOT NULL DEFAULT '{}';

-- A hold of the objects below a path: commit_id is then a commit of these alone, made for the hold.
ALTER TABLE gc_holds ADD COLUMN path text COLLATE "C" NOT NULL DEFAULT '';
