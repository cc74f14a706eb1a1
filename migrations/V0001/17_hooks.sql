-- Runs of hooks.

-- One row is a run of hooks, for an event that some action file waits for. run_id falls with time: the newest comes first.
-- A run after a change is queued in the transaction of the change and taken under a lease by whichever server comes first;
-- a run before a change belongs to the request that waits for it.
CREATE TABLE hook_runs (
  repo_id     integer NOT NULL,
  run_id      text COLLATE "C" NOT NULL,
  event       text COLLATE "C" NOT NULL,
  branch      text COLLATE "C" NOT NULL,            -- '' = none: the event is about a tag
  commit_id   bytea,                                -- NULL while the commit does not exist
  state       text NOT NULL CHECK (state IN ('queued', 'running', 'completed', 'failed')),
  after       boolean NOT NULL,                     -- queued with the change; else the change waits for it
  occasion    text NOT NULL,                        -- JSON: what a queued run is about; '' when it has ended
  error       text NOT NULL DEFAULT '',             -- why no hook ran
  started_ms  bigint NOT NULL,
  ended_ms    bigint,
  attempts    integer NOT NULL DEFAULT 0,
  lease_owner bigint,
  lease_until timestamptz,
  commits     bytea[] NOT NULL DEFAULT '{}',        -- that the occasion names: roots of garbage collection until the end
  PRIMARY KEY (repo_id, run_id)
);
CREATE INDEX hook_runs_by_branch ON hook_runs (repo_id, branch, run_id);
CREATE INDEX hook_runs_by_commit ON hook_runs (repo_id, commit_id, run_id);
-- These two serve the loops of servers.
CREATE INDEX hook_runs_open ON hook_runs (started_ms) WHERE state IN ('queued', 'running');
CREATE INDEX hook_runs_by_end ON hook_runs (ended_ms) WHERE ended_ms IS NOT NULL;

-- One row is a hook of a run. It is stored while it runs, so that its output can be read.
CREATE TABLE hook_steps (
  repo_id    integer NOT NULL,
  run_id     text COLLATE "C" NOT NULL,
  step_id    text COLLATE "C" NOT NULL,             -- "0000_0001": indexes of action and hook
  action     text NOT NULL,
  hook_id    text NOT NULL,
  status     text NOT NULL,
  started_ms bigint NOT NULL,
  ended_ms   bigint,
  output     bytea NOT NULL,
  PRIMARY KEY (repo_id, run_id, step_id),
  FOREIGN KEY (repo_id, run_id) REFERENCES hook_runs ON DELETE CASCADE,
  CONSTRAINT hook_steps_status_check
    CHECK (status IN ('running', 'completed', 'failed', 'skipped') AND (status = 'running') = (ended_ms IS NULL))
);

-- Deletes the steps of an earlier attempt when a run is taken or given back; ends steps that still run with their run, also
-- when their server is gone.
CREATE FUNCTION settle_hook_steps() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.ended_ms IS NULL THEN
    DELETE FROM hook_steps WHERE repo_id = NEW.repo_id AND run_id = NEW.run_id;
  ELSE
    UPDATE hook_steps SET status = 'failed', ended_ms = NEW.ended_ms
    WHERE repo_id = NEW.repo_id AND run_id = NEW.run_id AND status = 'running';
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER hook_runs_settle_steps AFTER UPDATE OF state ON hook_runs FOR EACH ROW EXECUTE FUNCTION settle_hook_steps();
