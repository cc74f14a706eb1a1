-- The staging area: what was written to branches and is not committed.
--
-- Staging functions return 0 done, 1 the branch is gone, 2 the writer is gone (the process lost its row: the work is
-- redone), 3 changed (the caller reads again).

-- One row is a number of a running server process, with the oldest node address and object address that it may still
-- publish under it.
CREATE SEQUENCE writer_ids;
CREATE TABLE writers (
  writer_id        bigint PRIMARY KEY,
  nid_floor        bigint NOT NULL,
  address_floor_ms bigint NOT NULL,
  expires_at       timestamptz NOT NULL
);

-- One row is a changed path: kind 0 = the entry in val, 1 = deleted.
CREATE TABLE staging (
  token       bigint NOT NULL,
  key         bytea NOT NULL,
  kind        smallint NOT NULL,
  val         bytea NOT NULL,
  -- The row was staged on a condition, and stays so when it is written again. A verb that must find the branch clean (a
  -- merge, a revert) looks when it seals what is staged: a plain write that comes later may as well have come after the
  -- verb, but a conditional one was decided against the tree of before and would hide what the verb brings.
  conditional boolean NOT NULL DEFAULT false,
  PRIMARY KEY (token, key)
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.1);
CREATE INDEX staging_conditional ON staging (token) WHERE conditional;

-- One row is a change of all keys in [lo, hi): kind 1 = deleted (hides older tokens and the tree), 2 = reset (hides older
-- tokens only). It is older than every point row of its own token; a token has the rows of one operation at most.
CREATE TABLE staging_ranges (
  token bigint NOT NULL,
  lo    bytea NOT NULL,
  hi    bytea,                                      -- NULL: no end
  kind  smallint NOT NULL,
  PRIMARY KEY (token, lo)
);

-- One row is a user whose work is among the changes of a token: who staged a change, and whose work a copy brought. A row
-- stays when its change is replaced. They are names, as commits.made_by.
CREATE TABLE staging_makers (
  token bigint NOT NULL,
  maker text NOT NULL,
  PRIMARY KEY (token, maker)
);

-- One row is a token that no branch refers to any more; its staged rows go after a grace that outlives every reader.
CREATE TABLE retired_tokens (
  token      bigint PRIMARY KEY,
  retired_at timestamptz NOT NULL
);

-- Tells whether a server process may still publish: its row in `writers` has not expired. Locks nothing. Called by
-- the functions of this protocol, meta::StagedBatch, objects::Uploads, imports::restore_refs, the jobs and the holds.
CREATE FUNCTION writer_lives(p_writer bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT 1 FROM writers WHERE writer_id = p_writer AND expires_at > clock_timestamp())
$$;

-- Adds the makers of changes to a token, in the transaction that stages the changes and after them. Locks the rows that it
-- adds. Called by the two functions below.
CREATE FUNCTION note_staging_makers(p_token bigint, p_makers text[]) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM unnest(p_makers) AS u(m)
             WHERE NOT EXISTS (SELECT 1 FROM staging_makers s WHERE s.token = p_token AND s.maker = m)) THEN
    INSERT INTO staging_makers (token, maker) SELECT DISTINCT p_token, m FROM unnest(p_makers) AS u(m) ORDER BY m
    ON CONFLICT DO NOTHING;
  END IF;
END
$$;

-- Stages rows under the rules that permitted them: no row enters a token that was sealed, and none is staged under other
-- settings than p_settings, beside a read lease, or by a process that is gone. With p_hold the rules stay as they are
-- until the transaction ends, for a write that is one statement of several. Locks the repository's row (with p_hold), then
-- the staging area (class 1, shared), then the staged rows. Returns a result as above; 3 means that other rules hold.
-- Raises TN404 (with p_hold) and TN455. Called by meta::Staging, also inside charge_quotas.
CREATE FUNCTION stage_entries_under(p_settings bigint, p_hold boolean, p_writer bigint, p_branch integer,
                                    p_keys bytea[], p_kinds smallint[], p_vals bytea[], p_makers text[])
RETURNS smallint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_token bigint;
  v_settings bigint;
  v_lives boolean;
  v_leased boolean;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'staging needs read committed isolation';
  END IF;
  IF p_hold THEN PERFORM hold_repository(repo_id) FROM branches WHERE branch_id = p_branch; END IF;
  -- In a statement before the one that reads the token, which is then the one of after the wait.
  PERFORM pg_advisory_xact_lock_shared(1, p_branch);
  SELECT b.token, r.settings_version,
         EXISTS (SELECT 1 FROM writers w WHERE w.writer_id = p_writer AND w.expires_at > clock_timestamp()),
         EXISTS (SELECT 1 FROM read_leases l WHERE l.branch_id = p_branch)
  INTO v_token, v_settings, v_lives, v_leased
  FROM branches b JOIN repositories r USING (repo_id) WHERE b.branch_id = p_branch;
  IF v_token IS NULL THEN RETURN 1; END IF;
  IF v_settings <> p_settings THEN RETURN 3; END IF;
  IF NOT v_lives THEN RETURN 2; END IF;
  IF v_leased THEN PERFORM raise_read_leased(0, p_branch); END IF;
  INSERT INTO staging (token, key, kind, val)
  SELECT v_token, k, kd, v FROM unnest(p_keys, p_kinds, p_vals) AS u(k, kd, v)
  ON CONFLICT (token, key) DO UPDATE SET kind = excluded.kind, val = excluded.val;
  PERFORM note_staging_makers(v_token, p_makers);
  RETURN 0;
END
$$;

-- Stages one row if nothing that decides the key's visible state has changed since the caller read it: the token, the
-- committed root, and the key's row in that token (kind and bytes, or its absence: NULLs). Marks the row as conditional.
-- Locks the staging area (class 1, shared), then the staged row; the head moves under the same lock, exclusive, so the
-- root that was compared stays until the row is in. Returns a result as above. Raises TN455. Called by meta::Staging, also
-- inside charge_quotas.
CREATE FUNCTION stage_entry_if(p_writer bigint, p_branch integer, p_token bigint, p_root bigint,
                                          p_expected_kind smallint, p_expected_val bytea,
                                          p_key bytea, p_kind smallint, p_val bytea, p_makers text[])
RETURNS smallint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_token bigint;
  v_root  bigint;
  v_leased boolean;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'staging needs read committed isolation';
  END IF;
  PERFORM pg_advisory_xact_lock_shared(1, p_branch);
  SELECT token, root_nid, EXISTS (SELECT 1 FROM read_leases l WHERE l.branch_id = p_branch)
  INTO v_token, v_root, v_leased FROM branches WHERE branch_id = p_branch;
  IF v_token IS NULL THEN RETURN 1; END IF;
  IF NOT writer_lives(p_writer) THEN RETURN 2; END IF;
  IF v_token <> p_token OR v_root IS DISTINCT FROM p_root THEN RETURN 3; END IF;
  IF v_leased THEN PERFORM raise_read_leased(0, p_branch); END IF;
  IF p_expected_kind IS NULL THEN
    INSERT INTO staging (token, key, kind, val, conditional) VALUES (v_token, p_key, p_kind, p_val, true)
    ON CONFLICT DO NOTHING;
  ELSE
    UPDATE staging SET kind = p_kind, val = p_val, conditional = true
    WHERE token = v_token AND key = p_key AND kind = p_expected_kind AND val = p_expected_val;
  END IF;
  IF NOT FOUND THEN RETURN 3; END IF;
  PERFORM note_staging_makers(v_token, p_makers);
  RETURN 0;
END
$$;
