-- Renames of branches.

-- Tells whether a JSON document has a ref expression of the branch as a text: the name, alone or before a modifier.
CREATE FUNCTION names_branch(p_document text, p_name text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT EXISTS (SELECT 1 FROM unnest(ARRAY['"', '~', '^', '@', '$']) AS u(c)
                 WHERE strpos(p_document, '"' || p_name || c) > 0)
$$;

-- Tells why a branch must keep its name, and what to do; NULL: nothing speaks against another. What is named here cannot
-- follow the branch: versions of policies and promotions are evidence, S3 clients of a rooted bucket name no branch and
-- their servers know the root for a while, and an import that is about to publish has read the name. Locks nothing; called
-- by rename_branch, which has locked the repository's row: no policy or promotion begins until its end.
CREATE FUNCTION branch_kept_name(p_branch integer, p_name text) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN b.gate IS NOT NULL
      THEN 'policy "' || b.gate || '" protects it; remove the policy, rename the branch, and set the policy for the new name'
    WHEN r.bucket_kind = 'rooted' AND r.default_branch = b.name
      THEN 'the repository was created as an S3 bucket, whose keys are paths in this branch; create a branch of the other name beside it'
    WHEN EXISTS (SELECT 1 FROM jobs j WHERE j.branch_id = b.branch_id AND j.state IN ('queued', 'running'))
      THEN 'an import writes to it; wait for its end, or cancel it'
    ELSE coalesce(
      (SELECT 'policy "' || g.name || '" names the branch "' || n.name || '"; set the policy without it first'
       FROM gate_policies g JOIN gate_policy_versions v USING (repo_id, name, version),
            unnest(ARRAY[b.name, p_name]) AS n(name)
       WHERE g.repo_id = b.repo_id AND v.document IS NOT NULL
         AND (v.destination = n.name OR names_branch(v.document, n.name)) LIMIT 1),
      (SELECT 'a change of policy "' || g.name || '" that waits for a second user names the branch "' || n.name
              || '"; decide it first'
       FROM gate_policy_proposals g, unnest(ARRAY[b.name, p_name]) AS n(name)
       WHERE g.repo_id = b.repo_id AND names_branch(g.document, n.name) LIMIT 1),
      (SELECT 'it takes part in promotion ' || p.promotion_id || '; wait for its end, or cancel it'
       FROM promotions p, unnest(ARRAY[b.name, p_name]) AS n(name)
       WHERE p.repo_id = b.repo_id AND p.due_at IS NOT NULL
         AND (p.destination = n.name OR names_branch(p.request, n.name) OR names_branch(p.candidates, n.name)) LIMIT 1))
  END
  FROM branches b JOIN repositories r USING (repo_id) WHERE b.branch_id = p_branch
$$;

-- Gives a branch another name, with everything that names it and can follow. Guarantees that whatever read the branch by its
-- old name neither stages nor publishes afterwards: every writer compares the settings version, which is another, and then
-- looks the branch up again. p_settings: the settings that permitted it; p_default: the default branch may be renamed. Locks the repository's row, the new name, the staging area (class 1, exclusive), the branch's row and
-- rows of pull requests. Returns in `status` 0 done, 1 the branch is gone, or the name is that of 2 a branch, 3 a tag,
-- 4 a commit; 5 the lease was lost or other settings hold; 6 the branch must keep its name (`why`); 7 it is the default
-- branch, without p_default. But in 0 the caller rolls back. Raises TN404 and TN455. Called by meta::Branches.
CREATE FUNCTION rename_branch(p_repo integer, p_branch integer, p_owner bigint, p_settings bigint, p_name text,
                              p_default boolean)
RETURNS TABLE (status smallint, why text) LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  b     branches%ROWTYPE;
  v_why text;
BEGIN
  UPDATE repositories SET settings_version = settings_version + 1
  WHERE repo_id = p_repo AND deleted_ms IS NULL AND settings_version = p_settings;
  IF NOT FOUND THEN
    PERFORM hold_repository(p_repo);
    RETURN QUERY SELECT 5::smallint, NULL::text;
    RETURN;
  END IF;
  PERFORM lock_ref_name(p_repo, p_name);
  PERFORM pg_advisory_xact_lock(1, p_branch);
  SELECT * INTO b FROM branches WHERE branch_id = p_branch AND repo_id = p_repo;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 1::smallint, NULL::text;
    RETURN;
  END IF;
  v_why := branch_kept_name(p_branch, p_name);
  status := CASE
    WHEN EXISTS (SELECT 1 FROM branches o WHERE o.repo_id = p_repo AND o.name = p_name) THEN 2
    WHEN EXISTS (SELECT 1 FROM tags t WHERE t.repo_id = p_repo AND t.name = p_name) THEN 3
    WHEN p_name ~ '^[0-9a-f]{64}$' AND EXISTS (
      SELECT 1 FROM commits c WHERE c.repo_id = p_repo AND c.commit_id = decode(p_name, 'hex')) THEN 4
    WHEN NOT p_default AND EXISTS (
      SELECT 1 FROM repositories r WHERE r.repo_id = p_repo AND r.default_branch = b.name) THEN 7
    WHEN v_why IS NOT NULL THEN 6
    ELSE 0 END;
  IF status <> 0 THEN
    RETURN QUERY SELECT status, v_why;
    RETURN;
  END IF;
  UPDATE branches SET name = p_name, version = version + 1, lease_owner = NULL, lease_until = NULL
  WHERE branch_id = p_branch AND lease_owner = p_owner AND lease_until > clock_timestamp();
  IF NOT FOUND THEN
    RETURN QUERY SELECT 5::smallint, NULL::text;
    RETURN;
  END IF;
  UPDATE repositories SET default_branch = p_name WHERE repo_id = p_repo AND default_branch = b.name;
  -- A closed one may be opened again.
  UPDATE pull_requests SET source = CASE source WHEN b.name THEN p_name ELSE source END,
    destination = CASE destination WHEN b.name THEN p_name ELSE destination END
  WHERE repo_id = p_repo AND pull_requests.status <> 'merged' AND b.name IN (source, destination);
  RETURN QUERY SELECT 0::smallint, NULL::text;
END
$$;
