-- How verbs change a branch: they take its lease, make a tree, and publish a commit in one statement.

-- Takes the lease of a branch for a verb and, when p_rotate and something is staged, seals the current token: writers hold
-- the staging lock shared through their insert, so after the exclusive lock no row can enter the sealed token. Guarantees
-- that until the lease ends no other verb publishes. Locks the staging area (class 1, with p_rotate), then the branch's
-- row. Returns the head, the tokens, the settings version and policy that the branch obeys under the lease, and its name; status:
-- 0 done, 1 the branch is gone, 4 leased by another. Raises TN455 (trigger branches_leased_change). Called by
-- meta::Branches.
CREATE FUNCTION acquire_branch(p_branch integer, p_owner bigint, p_lease_ms bigint, p_rotate boolean)
RETURNS TABLE (status smallint, head bytea, root_nid bigint, root_hash bytea, token bigint, sealed bigint[],
               has_ranges boolean, repo_id integer, settings_version bigint, gate text, name text)
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
        (SELECT r.settings_version FROM repositories r WHERE r.repo_id = b.repo_id), b.gate, b.name;
      RETURN;
    END IF;
  END IF;
  v_status := CASE WHEN EXISTS (SELECT 1 FROM branches WHERE branch_id = p_branch) THEN 4 ELSE 1 END;
  RETURN QUERY SELECT v_status, NULL::bytea, NULL::bigint, NULL::bytea, NULL::bigint, NULL::bigint[], false,
    NULL::integer, NULL::bigint, NULL::text, NULL::text;
END
$$;

-- Begins a transaction that changes a branch in another way than by publish_commit: guarantees that the settings are those
-- that the caller was judged by (p_settings; NULL: the caller obeys none), that nothing is staged and that no head moves
-- until the transaction ends. Locks the repository's row, then the staging area (class 1, exclusive). Returns false if
-- other settings hold. Raises TN404. Called by meta::Branches and meta::StagedBatch.
CREATE FUNCTION begin_branch_change(p_repo integer, p_branch integer, p_settings bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF hold_repository(p_repo) <> p_settings THEN RETURN false; END IF;
  PERFORM pg_advisory_xact_lock(1, p_branch);
  RETURN true;
END
$$;

-- Makes a commit the head of its branch in one transaction: nodes, the commit's row, the branch's row, the drained tokens.
-- Guarantees that the lease is p_owner's, the head is p_expected_head, the drained tokens are sealed, the settings are
-- those that the verb was judged by (p_settings; NULL: it obeys none), and that each commit of p_read, whose trees went
-- into this one, still exists and has its data. p_clean: the verb must find the branch clean, so no conditional row may have been staged.
-- Locks the repository's row, the rows of commits (FOR KEY SHARE), and last the staging area (class 1, exclusive) and the
-- branch's row: a conditional write waits only as long as the transaction takes from there. Commits are probed one by one
-- in the primary key, whatever the statistics: a subquery that locks rows is never flattened.
-- Returns 0 done, 2 the writer is gone, 3 other settings hold, 5 a commit of p_read is gone; nothing was done but in 0.
-- Raises what must undo its rows: TN001 the branch is gone, TN003 the branch changed or the commit was removed; also TN404,
-- TN410 (the data of a commit of p_read has expired), and TN010, TN455 and TN410 of the triggers of branches. Called by
-- meta::Branches.
CREATE FUNCTION publish_commit(
  p_writer bigint, p_owner bigint, p_repo integer, p_branch integer, p_expected_head bytea, p_drained bigint[],
  p_read bytea[],
  p_nids bigint[], p_levels smallint[], p_hashes bytea[], p_bodies bytea[],
  p_commit bytea, p_generation bigint, p_parents bytea[], p_root_nid bigint, p_root_hash bytea,
  p_committer text, p_message text, p_metadata text[], p_created_ms bigint, p_settings bigint,
  p_clean boolean, p_user text, p_makers text[], p_changed_paths bytea)
RETURNS smallint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_root bigint;
  v_makers text[];
BEGIN
  IF hold_repository(p_repo) <> p_settings THEN RETURN 3; END IF;
  IF NOT writer_lives(p_writer) THEN RETURN 2; END IF;
  IF require_kept_commits(p_repo, p_read) <> (SELECT count(DISTINCT id) FROM unnest(p_read) AS u(id)) THEN RETURN 5; END IF;
  INSERT INTO nodes (nid, repo_id, level, hash, body)
  SELECT n, p_repo, l, h, b FROM unnest(p_nids, p_levels, p_hashes, p_bodies) AS u(n, l, h, b);
  v_makers := ARRAY(SELECT m FROM unnest(p_makers) AS u(m)
                    UNION SELECT maker FROM staging_makers WHERE token = ANY (p_drained)
                    EXCEPT SELECT p_user ORDER BY 1);
  INSERT INTO commits (repo_id, commit_id, generation, parents, root_nid, root_hash, committer, message, metadata,
                       created_ms, made_by, makers, changed_paths)
  VALUES (p_repo, p_commit, p_generation, p_parents, p_root_nid, p_root_hash, p_committer, p_message, p_metadata,
          p_created_ms, nullif(p_user, ''), v_makers, nullif(p_changed_paths, ''))
  ON CONFLICT DO NOTHING;
  -- Two branches may make the same commit: both then use the tree of the row that is there, which has the makers of both.
  IF NOT FOUND THEN
    UPDATE commits SET makers = ARRAY(SELECT unnest(makers || v_makers || p_user) EXCEPT SELECT unnest(ARRAY[made_by, ''])
                                ORDER BY 1)
    WHERE repo_id = p_repo AND commit_id = p_commit AND NOT (made_by || makers) @> (v_makers || p_user);
  END IF;
  SELECT root_nid INTO v_root FROM commits WHERE repo_id = p_repo AND commit_id = p_commit FOR KEY SHARE;
  IF NOT FOUND THEN
    -- Garbage collection removed the row that was there. Raised, not returned: the nodes above must not stay.
    RAISE EXCEPTION 'the commit was removed' USING ERRCODE = 'TN003';
  END IF;
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
