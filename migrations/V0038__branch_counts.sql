-- Creation of a branch no longer counts all branches of its user. A new table, empty at first, and one function.

-- How many branches of a repository a user had made, and still had, when `token` was drawn. Every branch draws a token of the
-- same sequence, so the user has at most one more for each token drawn since.
CREATE TABLE branch_counts (
  repo_id  integer NOT NULL,
  made_by  text COLLATE "C" NOT NULL,
  branches bigint NOT NULL,
  token    bigint NOT NULL,
  PRIMARY KEY (repo_id, made_by)
);

-- Of V0024; counts only where the limit might be near.
CREATE OR REPLACE FUNCTION create_branch(p_repo integer, p_name text, p_commit bytea, p_hidden boolean, p_user text DEFAULT '',
                              p_most bigint DEFAULT 0)
RETURNS smallint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  -- Branches that one user may be making at the same moment, which no count sees yet.
  c_unseen    CONSTANT bigint := 128;
  v_user      text := nullif(p_user, '');
  v_count     bigint;
  v_token     bigint;
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
  IF EXISTS (SELECT 1 FROM branches WHERE repo_id = p_repo AND name = p_name) THEN RETURN 2; END IF;
  v_token := nextval('staging_tokens');
  IF v_user IS NOT NULL THEN
    SELECT c.branches + v_token - c.token INTO v_count FROM branch_counts c
    WHERE c.repo_id = p_repo AND c.made_by = v_user AND c.token < v_token;
    IF NOT FOUND OR v_count + c_unseen > p_most THEN
      v_count := count_branches_of(p_repo, v_user, p_most);
      IF v_count + c_unseen <= p_most THEN
        INSERT INTO branch_counts AS c (repo_id, made_by, branches, token) VALUES (p_repo, v_user, v_count, v_token)
        ON CONFLICT (repo_id, made_by) DO UPDATE SET branches = excluded.branches, token = excluded.token
        WHERE c.token < excluded.token;
      ELSE
        -- Near the limit one after the other, and counted again: those that others made meanwhile are seen then.
        PERFORM pg_advisory_xact_lock(4, hashtext(p_repo || '/' || v_user));
        IF count_branches_of(p_repo, v_user, p_most) >= p_most THEN RETURN 5; END IF;
      END IF;
    END IF;
  END IF;
  INSERT INTO branches (repo_id, name, head, root_nid, root_hash, token, hidden, created_by)
  VALUES (p_repo, p_name, p_commit, v_root_nid, v_root_hash, v_token, p_hidden, v_user)
  ON CONFLICT (repo_id, name) DO NOTHING;
  IF NOT FOUND THEN RETURN 2; END IF;
  RETURN 0;
END
$$;
