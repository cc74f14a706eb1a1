-- Runs of hooks, one for each event that some action file waits for. New tables only, so nothing is locked.

-- run_id falls with time: the newest comes first. A run after a change is queued in the transaction of the change and taken
-- under a lease by whichever server comes first; a run before it belongs to the request that waits for it.
CREATE TABLE hook_runs (
  repo_id     integer NOT NULL,
  run_id      text COLLATE "C" NOT NULL,
  event       text COLLATE "C" NOT NULL,
  branch      text COLLATE "C" NOT NULL,            -- '' = none: the event is about a tag
  commit_id   bytea,                                -- NULL while the commit does not exist
  state       text NOT NULL CHECK (state IN ('queued', 'running', 'completed', 'failed')),
  after       boolean NOT NULL,                     -- queued with the change; else the change waits for it
  occasion    text NOT NULL,                        -- JSON: what a queued run is about; '' when it has ended
  error       text NOT NULL DEFAULT '',             -- what kept all hooks from running
  started_ms  bigint NOT NULL,
  ended_ms    bigint,
  attempts    integer NOT NULL DEFAULT 0,
  lease_owner bigint,
  lease_until timestamptz,
  PRIMARY KEY (repo_id, run_id)
);
CREATE INDEX hook_runs_by_branch ON hook_runs (repo_id, branch, run_id);
CREATE INDEX hook_runs_by_commit ON hook_runs (repo_id, commit_id, run_id);
-- What the loops ask for.
CREATE INDEX hook_runs_open ON hook_runs (started_ms) WHERE state IN ('queued', 'running');
CREATE INDEX hook_runs_by_end ON hook_runs (ended_ms) WHERE ended_ms IS NOT NULL;

CREATE TABLE hook_steps (
  repo_id    integer NOT NULL,
  run_id     text COLLATE "C" NOT NULL,
  step_id    text COLLATE "C" NOT NULL,             -- "0000_0001": indexes of action and hook
  action     text NOT NULL,
  hook_id    text NOT NULL,
  status     text NOT NULL CHECK (status IN ('completed', 'failed', 'skipped')),
  started_ms bigint NOT NULL,
  ended_ms   bigint NOT NULL,
  output     bytea NOT NULL,
  PRIMARY KEY (repo_id, run_id, step_id),
  FOREIGN KEY (repo_id, run_id) REFERENCES hook_runs ON DELETE CASCADE
);

CREATE FUNCTION tell_hook_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM webhooks WHERE repo_id = NEW.repo_id AND active) THEN
    PERFORM emit_event(NEW.repo_id, 'hook.' || NEW.state, jsonb_strip_nulls(jsonb_build_object(
      'run_id', NEW.run_id, 'event', NEW.event, 'branch', nullif(NEW.branch, ''),
      'commit', encode(NEW.commit_id, 'hex'), 'error', nullif(NEW.error, ''))));
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER hook_runs_tell AFTER INSERT OR UPDATE OF state ON hook_runs FOR EACH ROW
  WHEN (NEW.state IN ('completed', 'failed')) EXECUTE FUNCTION tell_hook_run();
