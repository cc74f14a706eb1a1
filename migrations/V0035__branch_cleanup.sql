-- Cleanup of branches by rules, which are a kind of setting. New columns without a default for the rows that are there, two
-- functions and a trigger. The rows of branches are written once: before this version nobody knew how long they had been idle,
-- so they count as used now.

ALTER TABLE branches
  ADD COLUMN active_at timestamptz,                  -- creation, or the last move of the head
  ADD COLUMN expires_by text COLLATE "C",            -- the pattern of the rule that set expires_ms; NULL: a user or a policy
  ADD COLUMN stale_head bytea;                       -- the head for which branch.stale was told
UPDATE branches SET active_at = clock_timestamp();
ALTER TABLE branches ALTER COLUMN active_at SET DEFAULT clock_timestamp();

-- When the rules are applied next; NULL: at once. Of other kinds nobody looks at it.
ALTER TABLE repository_settings ADD COLUMN due_at timestamptz;
CREATE INDEX repository_settings_cleanup ON repository_settings (due_at) WHERE kind = 'branch_cleanup';

-- A branch that moves is in use: an expiry that a rule has set is lifted.
CREATE FUNCTION note_branch_use() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.active_at := clock_timestamp();
  IF NEW.expires_by IS NOT NULL THEN
    NEW.expires_ms := NULL;
    NEW.expires_by := NULL;
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER branches_note_use BEFORE UPDATE OF head ON branches
  FOR EACH ROW WHEN (OLD.head IS DISTINCT FROM NEW.head) EXECUTE FUNCTION note_branch_use();

-- Why a branch must not be deleted by a rule; NULL: nothing speaks against it.
CREATE FUNCTION branch_in_use(p_branch integer) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN b.gate IS NOT NULL THEN 'policy "' || b.gate || '" protects it'
    WHEN EXISTS (SELECT 1 FROM unnest(b.token || b.sealed) AS t
                 WHERE EXISTS (SELECT 1 FROM staging s WHERE s.token = t)
                    OR EXISTS (SELECT 1 FROM staging_ranges s WHERE s.token = t)) THEN 'it has uncommitted changes'
    WHEN EXISTS (SELECT 1 FROM uploads u WHERE u.branch_id = b.branch_id AND u.expires_at > clock_timestamp())
      THEN 'it has open uploads'
    WHEN EXISTS (SELECT 1 FROM pull_requests p
                 WHERE p.repo_id = b.repo_id AND p.status = 'open' AND b.name IN (p.source, p.destination))
      THEN 'it has an open pull request'
    WHEN EXISTS (SELECT 1 FROM promotions p
                 WHERE p.repo_id = b.repo_id AND p.due_at IS NOT NULL
                   AND (p.destination = b.name OR strpos(p.candidates, '["' || b.name || '",') > 0))
      THEN 'it takes part in an open promotion'
    WHEN EXISTS (SELECT 1 FROM jobs j WHERE j.branch_id = b.branch_id AND j.state IN ('queued', 'running'))
      THEN 'an import writes to it'
    WHEN EXISTS (SELECT 1 FROM aliases a WHERE a.repo_id = b.repo_id AND a.commit_id = b.head) THEN 'an alias names its head'
    WHEN EXISTS (SELECT 1 FROM gc_holds h
                 WHERE h.repo_id = b.repo_id AND h.commit_id = b.head
                   AND (h.until_ms IS NULL OR h.until_ms > extract(epoch FROM clock_timestamp()) * 1000))
      THEN 'a hold keeps its head'
  END
  FROM branches b WHERE b.branch_id = p_branch
$$;
