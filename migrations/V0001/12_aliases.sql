-- Aliases and their history.

-- One row is an alias, also a removed one, which keeps its row for its version.
CREATE TABLE aliases (
  repo_id   integer NOT NULL,
  name      text COLLATE "C" NOT NULL,
  commit_id bytea,                                  -- NULL: removed, or never set
  version   bigint NOT NULL DEFAULT 0,              -- the newest version in alias_history
  policy    text COLLATE "C",                       -- the gate policy that names it: only its promotions move it
  PRIMARY KEY (repo_id, name)
);
CREATE TRIGGER aliases_in_repository BEFORE INSERT ON aliases FOR EACH ROW EXECUTE FUNCTION require_repository();

-- One row is a move of an alias. Rows are a chain: version n begins where n-1 ended; NULL = there was, or is, no alias.
CREATE TABLE alias_history (
  repo_id      integer NOT NULL,
  name         text COLLATE "C" NOT NULL,
  version      bigint NOT NULL,
  from_commit  bytea,
  to_commit    bytea,
  actor        text COLLATE "C" NOT NULL,
  reason       text NOT NULL,
  promotion_id text COLLATE "C",
  evidence     bytea CHECK (octet_length(evidence) = 32),
  at_ms        bigint NOT NULL,
  PRIMARY KEY (repo_id, name, version)
);

-- Keeps the record of promotions: rows of alias_history are deleted with their repository only.
CREATE FUNCTION keep_alias_history() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF EXISTS (SELECT 1 FROM repositories WHERE repo_id = OLD.repo_id AND deleted_ms IS NOT NULL) THEN
      RETURN OLD;
    END IF;
  END IF;
  RAISE EXCEPTION 'alias_history is append-only';
END
$$;
CREATE TRIGGER alias_history_append_only BEFORE UPDATE OR DELETE ON alias_history
  FOR EACH ROW EXECUTE FUNCTION keep_alias_history();
CREATE TRIGGER alias_history_no_truncation BEFORE TRUNCATE ON alias_history
  FOR EACH STATEMENT EXECUTE FUNCTION keep_alias_history();

-- Moves an alias if it stands where the caller expects (p_any: wherever it stands; else at p_expected, NULL = nowhere)
-- and writes its history; p_to NULL removes it. An alias that a policy names is moved by promotions of that policy alone.
-- Locks the commit's row (FOR KEY SHARE, so that collection cannot take it between the look and the move), then the
-- alias's row. Returns 0 done, 1 the commit is gone, 2 it stands elsewhere, 3 it stands at p_to already, 4 a policy names
-- it and this is no promotion of that policy. Raises TN404 and TN410 (triggers of aliases). Called by branch::AliasStore.
CREATE FUNCTION move_alias(
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
    -- One of several transactions makes the row; the others wait here for its end.
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
