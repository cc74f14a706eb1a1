-- Branches and tags.

-- Tokens grow: the newer token wins over the older. A token's number is never reused.
CREATE SEQUENCE staging_tokens;

-- One row is a branch: its head, the tokens of its staging area, and the lease of the verb that changes it.
CREATE TABLE branches (
  repo_id     integer NOT NULL,
  name        text COLLATE "C" NOT NULL,
  branch_id   integer GENERATED ALWAYS AS IDENTITY UNIQUE,
  head        bytea NOT NULL,
  root_nid    bigint,                               -- the head's, kept here for the read in one statement
  root_hash   bytea NOT NULL,
  token       bigint NOT NULL,                      -- writes go here
  sealed      bigint[] NOT NULL DEFAULT '{}',       -- tokens that are frozen for ever, newest first
  version     bigint NOT NULL DEFAULT 1,            -- grows when head or tokens change
  hidden      boolean NOT NULL DEFAULT false,
  has_ranges  boolean NOT NULL DEFAULT false,       -- some token may have rows in staging_ranges
  lease_owner bigint,
  lease_until timestamptz,
  expires_ms  bigint,
  expiry_claimed_until timestamptz,                 -- a server deletes the branch, or found that it may not be deleted yet
  gate        text COLLATE "C",                     -- the gate policy that protects the branch
  created_by  text COLLATE "C",                     -- the user's name; NULL: made with its repository or by a restore
  active_at   timestamptz NOT NULL DEFAULT clock_timestamp(),  -- creation, or the last move of the head
  expires_by  text COLLATE "C",                     -- the pattern of the rule that set expires_ms; NULL: a user or a policy
  stale_head  bytea,                                -- the head for which branch.stale was emitted
  PRIMARY KEY (repo_id, name)
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX branches_by_expiry ON branches (expires_ms) WHERE expires_ms IS NOT NULL;
CREATE INDEX branches_by_creator ON branches (repo_id, created_by) WHERE created_by IS NOT NULL;
CREATE TRIGGER branches_in_repository BEFORE INSERT ON branches FOR EACH ROW EXECUTE FUNCTION require_repository();

-- One row is a tag.
CREATE TABLE tags (
  repo_id   integer NOT NULL,
  name      text COLLATE "C" NOT NULL,
  commit_id bytea NOT NULL,
  PRIMARY KEY (repo_id, name)
);
CREATE TRIGGER tags_in_repository BEFORE INSERT ON tags FOR EACH ROW EXECUTE FUNCTION require_repository();

-- One row is how many branches of a repository a user had made, and still had, when `token` was drawn. Every branch draws
-- a token of the same sequence, so the user has at most one more for each token drawn since.
CREATE TABLE branch_counts (
  repo_id  integer NOT NULL,
  made_by  text COLLATE "C" NOT NULL,
  branches bigint NOT NULL,
  token    bigint NOT NULL,
  PRIMARY KEY (repo_id, made_by)
);

-- Guarantees that nobody else makes a ref of this name until the transaction ends: branches and tags share their names but
-- no unique key. Takes advisory lock class 3, after the repository's row. The id is a hash of repository and name; two
-- that collide only wait for each other. Called by create_branch, create_tag and rename_branch.
CREATE FUNCTION lock_ref_name(p_repo integer, p_name text) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(3, hashtext(p_repo || '/' || p_name));
END
$$;

-- Counts the branches that a user made, p_most at most, in index branches_by_creator. Called by create_branch.
CREATE FUNCTION count_branches_of(p_repo integer, p_user text, p_most bigint)
RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT count(*) FROM (
    SELECT 1 FROM branches WHERE repo_id = p_repo AND created_by = p_user LIMIT p_most) AS counted
$$;

-- Creates a branch, within the limit of p_most branches of the user p_user; without p_user it is nobody's and no limit
-- holds. Counts only where the limit might be near. Locks the repository's row, the name, the commit's row (FOR KEY SHARE,
-- so that collection cannot take it) and, near the limit, class 4. Returns 0 done, 1 the commit is gone, 2 a branch,
-- 3 a tag or 4 a commit has that name, 5 the user has p_most branches. Raises TN404, and TN410 (trigger
-- branches_keep_head) if the commit's data has expired. Called by meta::Branches.
CREATE FUNCTION create_branch(p_repo integer, p_name text, p_commit bytea, p_hidden boolean, p_user text DEFAULT '',
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
        -- Near the limit users' requests go one after the other and count again, so that each sees what the others made.
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

-- Creates a tag. Locks the repository's row, the name and the commit's row (FOR KEY SHARE). Returns 0 done, 1 a tag has
-- that name, 2 a branch has it, 3 the commit is gone. Raises TN404, and TN410 (trigger tags_keep_commit) if the commit's
-- data has expired. Called by meta::Tags.
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
