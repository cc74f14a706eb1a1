-- Steps of hooks are stored while they run, so that their output can be read. Locks hook_steps and hook_runs for a moment and reads no
-- row: the rows that exist have ended, so the new condition is not checked for them.

ALTER TABLE hook_steps
  DROP CONSTRAINT hook_steps_status_check,
  ALTER COLUMN ended_ms DROP NOT NULL,
  ADD CONSTRAINT hook_steps_status_check
    CHECK (status IN ('running', 'completed', 'failed', 'skipped') AND (status = 'running') = (ended_ms IS NULL)) NOT VALID;

-- A run that is taken or given back begins again without the steps of before; with a run its steps have ended, also when their server
-- is gone. Here, because servers of before this migration take and end runs too.
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
