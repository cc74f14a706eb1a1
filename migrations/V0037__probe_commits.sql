-- Functions that look commits up by arrays of ids probe the primary key for each id, whatever the statistics: the plan of a
-- session that began while `commits` was nearly empty read all commits of the repository, until the table was analyzed. A
-- subquery that locks rows is never flattened, so the join below stays a loop over the ids.
CREATE OR REPLACE FUNCTION require_kept_commits(p_repo integer, p_commits bytea[]) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_found   bigint;
  v_expired bigint;
BEGIN
  -- In the order of ids, as every other that locks several rows of commits.
  SELECT count(*), min(c.root_nid) INTO v_found, v_expired
  FROM (SELECT DISTINCT id FROM unnest(p_commits) AS u(id) ORDER BY id) AS wanted CROSS JOIN LATERAL (
    SELECT root_nid FROM commits WHERE repo_id = p_repo AND commit_id = wanted.id FOR KEY SHARE) AS c;
  PERFORM require_kept_tree(v_expired);
  RETURN v_found;
END
$$;

-- Of V0029, with probes.
CREATE OR REPLACE FUNCTION publish_commit(
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
    SELECT 1 FROM unnest(p_read) AS r(id) CROSS JOIN LATERAL (
      SELECT 1 FROM commits WHERE repo_id = p_repo AND commit_id = r.id FOR KEY SHARE) AS c) AS present;
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
