-- Lifecycle rules of buckets, which are a kind of setting: when a server looks for objects and uploads that have expired.

-- One row is a repository that has rules.
CREATE SEQUENCE lifecycle_versions;
CREATE TABLE lifecycle_scans (
  repo_id       integer PRIMARY KEY,
  -- No two sets of rules have one number, so a scan under older rules changes nothing here.
  version       bigint NOT NULL DEFAULT nextval('lifecycle_versions'),
  position      bytea NOT NULL DEFAULT '',          -- the key behind which the scan goes on, of versions after a zero; '' = all of them, and uploads
  due_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  claimed_until timestamptz
);
CREATE INDEX lifecycle_scans_by_due ON lifecycle_scans (due_at);

-- Makes a scan of the repository due when rules are set, or drops it with them, for objects::LifecycleScans.
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
