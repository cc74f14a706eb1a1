-- Lifecycle rules of buckets are a kind of setting; here is when a server looks for objects and uploads whose time has come.
-- A new table, so nothing is rewritten.

CREATE SEQUENCE lifecycle_versions;

-- A row for each repository that has rules. position: the key behind which the look at its objects goes on; '' = all of them,
-- and the uploads. version: of the rules, never used twice, so that whoever looks with rules of before changes nothing here.
CREATE TABLE lifecycle_scans (
  repo_id       integer PRIMARY KEY,
  version       bigint NOT NULL DEFAULT nextval('lifecycle_versions'),
  position      bytea NOT NULL DEFAULT '',
  due_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  claimed_until timestamptz
);
CREATE INDEX lifecycle_scans_by_due ON lifecycle_scans (due_at);

CREATE FUNCTION note_lifecycle() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    DELETE FROM lifecycle_scans WHERE repo_id = OLD.repo_id;
    RETURN NULL;
  END IF;
  INSERT INTO lifecycle_scans (repo_id) VALUES (NEW.repo_id)
  ON CONFLICT (repo_id) DO UPDATE
  SET version = excluded.version, position = '', due_at = clock_timestamp(), claimed_until = NULL;
  RETURN NULL;
END
$$;
CREATE TRIGGER repository_settings_note_lifecycle AFTER INSERT OR UPDATE ON repository_settings
  FOR EACH ROW WHEN (NEW.kind = 'lifecycle') EXECUTE FUNCTION note_lifecycle();
CREATE TRIGGER repository_settings_note_no_lifecycle AFTER DELETE ON repository_settings
  FOR EACH ROW WHEN (OLD.kind = 'lifecycle') EXECUTE FUNCTION note_lifecycle();
