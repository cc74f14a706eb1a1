-- An alias that a policy names is moved by promotions of that policy alone; those of other policies moved it too.
-- status 4: a policy names it and this is no promotion of that policy.
CREATE OR REPLACE FUNCTION move_alias(
  p_repo integer, p_name text, p_any boolean, p_expected bytea, p_to bytea,
  p_actor text, p_reason text, p_promotion text, p_evidence bytea, p_at_ms bigint)
RETURNS smallint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  a aliases%ROWTYPE;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'moving an alias needs read committed isolation';
  END IF;
  -- Locked, so that collection cannot take the commit between the look and the move.
  IF p_to IS NOT NULL THEN
    PERFORM 1 FROM commits WHERE repo_id = p_repo AND commit_id = p_to FOR KEY SHARE;
    IF NOT FOUND THEN RETURN 1; END IF;
  END IF;
  SELECT * INTO a FROM aliases WHERE repo_id = p_repo AND name = p_name FOR UPDATE;
  IF NOT FOUND THEN
    IF NOT p_any AND p_expected IS NOT NULL THEN RETURN 2; END IF;
    IF p_to IS NULL THEN RETURN 3; END IF;
    -- Of several who make it one does; the others wait for its end here.
    INSERT INTO aliases (repo_id, name) VALUES (p_repo, p_name) ON CONFLICT DO NOTHING;
    SELECT * INTO STRICT a FROM aliases WHERE repo_id = p_repo AND name = p_name FOR UPDATE;
  END IF;
  IF a.policy IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM promotions WHERE repo_id = p_repo AND promotion_id = p_promotion AND policy = a.policy) THEN
    RETURN 4;
  END IF;
  IF NOT p_any AND a.commit_id IS DISTINCT FROM p_expected THEN RETURN 2; END IF;
  IF a.commit_id IS NOT DISTINCT FROM p_to THEN RETURN 3; END IF;
  UPDATE aliases SET commit_id = p_to, version = version + 1 WHERE repo_id = p_repo AND name = p_name;
  INSERT INTO alias_history (repo_id, name, version, from_commit, to_commit, actor, reason, promotion_id, evidence, at_ms)
  VALUES (p_repo, p_name, a.version + 1, a.commit_id, p_to, p_actor, p_reason, p_promotion, p_evidence, p_at_ms);
  RETURN 0;
END
$$;
