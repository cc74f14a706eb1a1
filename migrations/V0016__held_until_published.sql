-- What a verb was judged by stays so until its transaction ends; a head moves under the staging lock; a name is one ref;
-- nothing is made in a repository that is being deleted. Functions and triggers; one column of jobs goes, one of staging
-- comes (its default needs no rewrite).
-- Lock classes of pg_advisory_xact_lock(class, id), added: 3 = the name of a ref (id = hash of repository and name).
-- Order of locks in every transaction: the repository's row, the name of a ref, the staging area, commits, branches.

-- Holds the repository's row against deletion and changes of its settings until the transaction ends. FOR SHARE, since
-- neither changes a column of a key: FOR KEY SHARE would let both pass.
CREATE FUNCTION hold_repository(p_repo integer) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_version bigint;
BEGIN
  SELECT settings_version INTO v_version FROM repositories WHERE repo_id = p_repo AND deleted_ms IS NULL FOR SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'repository not found' USING ERRCODE = 'TN404';  -- core/db makes it not_found
  END IF;
  RETURN v_version;
END
$$;

-- Rows that name a repository are not made once it is deleted: they would stay for ever.
CREATE FUNCTION require_repository() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hold_repository(NEW.repo_id);
  RETURN NEW;
END
$$;
CREATE TRIGGER branches_in_repository BEFORE INSERT ON branches FOR EACH ROW EXECUTE FUNCTION require_repository();
CREATE TRIGGER tags_in_repository BEFORE INSERT ON tags FOR EACH ROW EXECUTE FUNCTION require_repository();
CREATE TRIGGER commits_in_repository BEFORE INSERT ON commits FOR EACH ROW EXECUTE FUNCTION require_repository();
CREATE TRIGGER runs_in_repository BEFORE INSERT ON runs FOR EACH ROW EXECUTE FUNCTION require_repository();
CREATE TRIGGER aliases_in_repository BEFORE INSERT ON aliases FOR EACH ROW EXECUTE FUNCTION require_repository();
CREATE TRIGGER pulls_in_repository BEFORE INSERT ON pull_requests FOR EACH ROW EXECUTE FUNCTION require_repository();
CREATE TRIGGER promotions_in_repository BEFORE INSERT ON promotions FOR EACH ROW EXECUTE FUNCTION require_repository();
CREATE TRIGGER webhooks_in_repository BEFORE INSERT ON webhooks FOR EACH ROW EXECUTE FUNCTION require_repository();

-- First in a transaction that changes a branch: whether the settings are those that the caller was judged by (NULL: the
-- caller obeys none). Then nothing is staged and no head moves until the transaction ends.
CREATE FUNCTION begin_branch_change(p_repo integer, p_branch integer, p_settings bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF hold_repository(p_repo) <> p_settings THEN RETURN false; END IF;
  PERFORM pg_advisory_xact_lock(1, p_branch);
  RETURN true;
END
$$;

-- Branches and tags share their names but no unique key: both lock the name, in a statement before the one that looks.
CREATE FUNCTION lock_ref_name(p_repo integer, p_name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(3, hashtext(p_repo || '/' || p_name));
END
$$;

-- A job ends in the transaction that makes its result visible, so it may be cancelled until then.
ALTER TABLE jobs DROP COLUMN publishing;

DROP FUNCTION acquire_branch(integer, bigint, bigint, boolean);
-- As in V0001; also answers the settings version and the policy that the branch obeys under the lease.
CREATE FUNCTION acquire_branch(p_branch integer, p_owner bigint, p_lease_ms bigint, p_rotate boolean)
RETURNS TABLE (status smallint, head bytea, root_nid bigint, root_hash bytea, token bigint, sealed bigint[],
               has_ranges boolean, repo_id integer, settings_version bigint, gate text)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  b branches%ROWTYPE;
  v_rotate boolean;
  v_status smallint;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'branch leases need read committed isolation';
  END IF;
  IF p_rotate THEN PERFORM pg_advisory_xact_lock(1, p_branch); END IF;
  SELECT * INTO b FROM branches WHERE branch_id = p_branch;
  IF FOUND THEN
    v_rotate := p_rotate AND (EXISTS (SELECT 1 FROM staging s WHERE s.token = b.token)
                              OR (b.has_ranges AND EXISTS (SELECT 1 FROM staging_ranges r WHERE r.token = b.token)));
    UPDATE branches SET
      lease_owner = p_owner,
      lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond',
      sealed = CASE WHEN v_rotate THEN branches.token || branches.sealed ELSE branches.sealed END,
      token = CASE WHEN v_rotate THEN nextval('staging_tokens') ELSE branches.token END,
      version = branches.version + v_rotate::int
    WHERE branch_id = p_branch
      AND (lease_owner IS NULL OR lease_owner = p_owner OR lease_until < clock_timestamp())
    RETURNING * INTO b;
    IF FOUND THEN
      RETURN QUERY SELECT 0::smallint, b.head, b.root_nid, b.root_hash, b.token, b.sealed, b.has_ranges, b.repo_id,
        (SELECT r.settings_version FROM repositories r WHERE r.repo_id = b.repo_id), b.gate;
      RETURN;
    END IF;
  END IF;
  v_status := CASE WHEN EXISTS (SELECT 1 FROM branches WHERE branch_id = p_branch) THEN 4 ELSE 1 END;
  RETURN QUERY SELECT v_status, NULL::bytea, NULL::bigint, NULL::bytea, NULL::bigint, NULL::bigint[], false,
    NULL::integer, NULL::bigint, NULL::text;
END
$$;

-- Rows that were staged on a condition. A verb that must find the branch clean (a merge, a revert) looks when it seals
-- what is staged: a plain write that comes later may as well have come after the verb, but a conditional one was decided
-- against the tree of before and would hide what the verb brings. Stays set when the row is written again.
ALTER TABLE staging ADD COLUMN conditional boolean NOT NULL DEFAULT false;
CREATE INDEX staging_conditional ON staging (token) WHERE conditional;

-- As in V0001; marks the row.
CREATE OR REPLACE FUNCTION stage_entry_if(p_writer bigint, p_branch integer, p_token bigint, p_root bigint,
                                          p_expected_kind smallint, p_expected_val bytea,
                                          p_key bytea, p_kind smallint, p_val bytea)
RETURNS smallint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_token bigint;
  v_root  bigint;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'staging needs read committed isolation';
  END IF;
  PERFORM pg_advisory_xact_lock_shared(1, p_branch);
  SELECT token, root_nid INTO v_token, v_root FROM branches WHERE branch_id = p_branch;
  IF v_token IS NULL THEN RETURN 1; END IF;
  IF NOT writer_lives(p_writer) THEN RETURN 2; END IF;
  IF v_token <> p_token OR v_root IS DISTINCT FROM p_root THEN RETURN 3; END IF;
  IF p_expected_kind IS NULL THEN
    INSERT INTO staging (token, key, kind, val, conditional) VALUES (v_token, p_key, p_kind, p_val, true)
    ON CONFLICT DO NOTHING;
  ELSE
    UPDATE staging SET kind = p_kind, val = p_val, conditional = true
    WHERE token = v_token AND key = p_key AND kind = p_expected_kind AND val = p_expected_val;
  END IF;
  IF NOT FOUND THEN RETURN 3; END IF;
  RETURN 0;
END
$$;

DROP FUNCTION publish_commit(bigint, bigint, integer, integer, bytea, bigint[], bytea[], bigint[], smallint[], bytea[],
                             bytea[], bytea, bigint, bytea[], bigint, bytea, text, text, text[], bigint);
-- As in V0001, and under the settings that the verb was judged by (p_settings; NULL: it obeys none). The head moves
-- under the staging lock, which is taken last: a conditional write that compares the root holds it shared until its row
-- is in, and waits as long as the transaction takes from here. p_clean: of a verb that must find the branch clean.
CREATE FUNCTION publish_commit(
  p_writer bigint, p_owner bigint, p_repo integer, p_branch integer, p_expected_head bytea, p_drained bigint[],
  p_read bytea[],
  p_nids bigint[], p_levels smallint[], p_hashes bytea[], p_bodies bytea[],
  p_commit bytea, p_generation bigint, p_parents bytea[], p_root_nid bigint, p_root_hash bytea,
  p_committer text, p_message text, p_metadata text[], p_created_ms bigint, p_settings bigint,
  p_clean boolean)
RETURNS smallint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_root  bigint;
  v_found integer;
BEGIN
  IF hold_repository(p_repo) <> p_settings THEN RETURN 3; END IF;
  IF NOT writer_lives(p_writer) THEN RETURN 2; END IF;
  SELECT count(*) INTO v_found FROM (
    SELECT 1 FROM commits WHERE repo_id = p_repo AND commit_id = ANY (p_read) FOR KEY SHARE) AS present;
  IF v_found <> cardinality(p_read) THEN RETURN 5; END IF;
  INSERT INTO nodes (nid, repo_id, level, hash, body)
  SELECT n, p_repo, l, h, b FROM unnest(p_nids, p_levels, p_hashes, p_bodies) AS u(n, l, h, b);
  INSERT INTO commits (repo_id, commit_id, generation, parents, root_nid, root_hash, committer, message, metadata,
                       created_ms)
  VALUES (p_repo, p_commit, p_generation, p_parents, p_root_nid, p_root_hash, p_committer, p_message, p_metadata,
          p_created_ms)
  ON CONFLICT DO NOTHING;
  -- Two branches may make the same commit: both then use the tree of the row that is there.
  SELECT root_nid INTO v_root FROM commits WHERE repo_id = p_repo AND commit_id = p_commit FOR KEY SHARE;
  PERFORM pg_advisory_xact_lock(1, p_branch);
  UPDATE branches SET
    head = p_commit, root_nid = v_root, root_hash = p_root_hash,
    sealed = ARRAY(SELECT t FROM unnest(sealed) WITH ORDINALITY AS s(t, i) WHERE t <> ALL (p_drained) ORDER BY i),
    version = version + 1, lease_owner = NULL, lease_until = NULL
  WHERE branch_id = p_branch AND lease_owner = p_owner AND head = p_expected_head AND sealed @> p_drained
    AND NOT (p_clean AND EXISTS (SELECT 1 FROM staging s WHERE s.token = branches.token AND s.conditional));
  IF NOT FOUND THEN
    -- Raised, not returned: the rows above must not stay.
    IF EXISTS (SELECT 1 FROM branches WHERE branch_id = p_branch) THEN
      RAISE EXCEPTION 'the branch has changed' USING ERRCODE = 'TN003';
    END IF;
    RAISE EXCEPTION 'the branch is gone' USING ERRCODE = 'TN001';
  END IF;
  INSERT INTO retired_tokens (token, retired_at) SELECT t, clock_timestamp() FROM unnest(p_drained) AS d(t);
  RETURN 0;
END
$$;

-- status: 0 done, 1 the commit is gone, 2 a branch, 3 a tag or 4 a commit has that name.
CREATE OR REPLACE FUNCTION create_branch(p_repo integer, p_name text, p_commit bytea, p_hidden boolean)
RETURNS smallint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_root_nid  bigint;
  v_root_hash bytea;
BEGIN
  PERFORM hold_repository(p_repo);
  PERFORM lock_ref_name(p_repo, p_name);
  SELECT root_nid, root_hash INTO v_root_nid, v_root_hash
  FROM commits WHERE repo_id = p_repo AND commit_id = p_commit FOR KEY SHARE;
  IF NOT FOUND THEN RETURN 1; END IF;
  IF EXISTS (SELECT 1 FROM tags WHERE repo_id = p_repo AND name = p_name) THEN RETURN 3; END IF;
  IF p_name ~ '^[0-9a-f]{64}$' AND EXISTS (
       SELECT 1 FROM commits WHERE repo_id = p_repo AND commit_id = decode(p_name, 'hex')) THEN
    RETURN 4;
  END IF;
  INSERT INTO branches (repo_id, name, head, root_nid, root_hash, token, hidden)
  VALUES (p_repo, p_name, p_commit, v_root_nid, v_root_hash, nextval('staging_tokens'), p_hidden)
  ON CONFLICT (repo_id, name) DO NOTHING;
  IF NOT FOUND THEN RETURN 2; END IF;
  RETURN 0;
END
$$;

-- status: 0 done, 1 a tag has that name, 2 a branch has it, 3 the commit is gone.
CREATE FUNCTION create_tag(p_repo integer, p_name text, p_commit bytea)
RETURNS smallint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM hold_repository(p_repo);
  PERFORM lock_ref_name(p_repo, p_name);
  -- Locked so that collection cannot take the commit between the look and the insert.
  PERFORM 1 FROM commits WHERE repo_id = p_repo AND commit_id = p_commit FOR KEY SHARE;
  IF NOT FOUND THEN RETURN 3; END IF;
  IF EXISTS (SELECT 1 FROM branches WHERE repo_id = p_repo AND name = p_name) THEN RETURN 2; END IF;
  INSERT INTO tags (repo_id, name, commit_id) VALUES (p_repo, p_name, p_commit) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN 1; END IF;
  RETURN 0;
END
$$;
