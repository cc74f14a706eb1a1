-- Staging under the rules that permitted it, in one pass. V0001's stage_entries was called behind a query of its own for the
-- version of the rules, and read the branch and the writer in two more; here one query reads all of them, after the wait for
-- the lock. Servers of earlier versions go on calling stage_entries.
-- p_hold: the rules stay as they are until the transaction ends, for a write that is one statement of several. The
-- repository's row is locked before the staging area, as everywhere.
-- 0 = staged, 1 = the branch is gone, 2 = the writer is gone, 3 = other rules hold.
CREATE FUNCTION stage_entries_under(p_settings bigint, p_hold boolean, p_writer bigint, p_branch integer,
                                    p_keys bytea[], p_kinds smallint[], p_vals bytea[])
RETURNS smallint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_token bigint;
  v_settings bigint;
  v_lives boolean;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'staging needs read committed isolation';
  END IF;
  IF p_hold THEN PERFORM hold_repository(repo_id) FROM branches WHERE branch_id = p_branch; END IF;
  -- In a statement before the one that reads the token, which is then the one of after the wait.
  PERFORM pg_advisory_xact_lock_shared(1, p_branch);
  SELECT b.token, r.settings_version,
         EXISTS (SELECT 1 FROM writers w WHERE w.writer_id = p_writer AND w.expires_at > clock_timestamp())
  INTO v_token, v_settings, v_lives
  FROM branches b JOIN repositories r USING (repo_id) WHERE b.branch_id = p_branch;
  IF v_token IS NULL THEN RETURN 1; END IF;
  IF v_settings <> p_settings THEN RETURN 3; END IF;
  IF NOT v_lives THEN RETURN 2; END IF;
  INSERT INTO staging (token, key, kind, val)
  SELECT v_token, k, kd, v FROM unnest(p_keys, p_kinds, p_vals) AS u(k, kd, v)
  ON CONFLICT (token, key) DO UPDATE SET kind = excluded.kind, val = excluded.val;
  RETURN 0;
END
$$;
