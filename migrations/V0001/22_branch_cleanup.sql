-- Cleanup of branches by rules, which are a kind of setting.

-- Sets active_at of a branch whose head moves. Such a branch is in use: an expiry that a rule has set is lifted.
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

-- Tells why a branch must not be deleted by a rule; NULL: nothing speaks against it. Locks nothing; the statement that
-- deletes the branch asks, after begin_branch_change. Called by branch::CleanupStore and meta::Branches.
CREATE FUNCTION branch_in_use(p_branch integer) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN EXISTS (SELECT 1 FROM repositories r WHERE r.repo_id = b.repo_id AND r.default_branch = b.name)
      THEN 'it is the default branch'
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
