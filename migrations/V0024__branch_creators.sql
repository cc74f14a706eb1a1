-- Who made a branch, so that one user cannot fill a repository with them, and which heads moved, so that promotions that
-- wait for a branch are looked at soon. No table is rewritten.

-- The name of the user; NULL: made before this column, with its repository, or by a restore. It never changes.
ALTER TABLE branches ADD COLUMN created_by text COLLATE "C";
CREATE INDEX branches_by_creator ON branches (repo_id, created_by) WHERE created_by IS NOT NULL;

-- p_most at most. Index branches_by_creator.
CREATE FUNCTION count_branches_of(p_repo integer, p_user text, p_most bigint)
RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT count(*) FROM (
    SELECT 1 FROM branches WHERE repo_id = p_repo AND created_by = p_user LIMIT p_most) AS counted
$$;

-- status: 0 done, 1 the commit is gone, 2 a branch, 3 a tag or 4 a commit has that name, 5 the user has p_most branches.
-- Without p_user it is nobody's and no limit holds. Lock class 4: branches of one user.
DROP FUNCTION create_branch(integer, text, bytea, boolean);
CREATE FUNCTION create_branch(p_repo integer, p_name text, p_commit bytea, p_hidden boolean, p_user text DEFAULT '',
                              p_most bigint DEFAULT 0)
RETURNS smallint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  -- Branches that one user may be making at the same moment, which no count sees yet.
  c_unseen    CONSTANT bigint := 128;
  v_user      text := nullif(p_user, '');
  v_count     bigint;
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
  IF v_user IS NOT NULL THEN
    v_count := count_branches_of(p_repo, v_user, p_most);
    -- Near the limit one after the other, and counted again: those that others made meanwhile are seen then.
    IF v_count + c_unseen > p_most THEN
      PERFORM pg_advisory_xact_lock(4, hashtext(p_repo || '/' || v_user));
      IF count_branches_of(p_repo, v_user, p_most) >= p_most THEN RETURN 5; END IF;
    END IF;
  END IF;
  INSERT INTO branches (repo_id, name, head, root_nid, root_hash, token, hidden, created_by)
  VALUES (p_repo, p_name, p_commit, v_root_nid, v_root_hash, nextval('staging_tokens'), p_hidden, v_user)
  ON CONFLICT (repo_id, name) DO NOTHING;
  IF NOT FOUND THEN RETURN 2; END IF;
  RETURN 0;
END
$$;

-- Branches whose head moved or that were deleted while a promotion of their repository was open. Those who move promotions
-- on read and delete them. No key and no reference to promotions: a commit waits for no lock here.
CREATE TABLE branch_moves (
  repo_id integer NOT NULL,
  name    text COLLATE "C" NOT NULL
);
CREATE INDEX promotions_open ON promotions (repo_id) WHERE due_at IS NOT NULL;
ALTER TABLE promotions ADD COLUMN moved bigint NOT NULL DEFAULT 0;  -- grows with every move of a candidate

CREATE FUNCTION note_branch_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO branch_moves (repo_id, name)
  SELECT OLD.repo_id, OLD.name
  WHERE EXISTS (SELECT 1 FROM promotions WHERE repo_id = OLD.repo_id AND due_at IS NOT NULL);
  RETURN NULL;
END
$$;
CREATE TRIGGER branches_note_move AFTER UPDATE OF head ON branches
  FOR EACH ROW WHEN (OLD.head IS DISTINCT FROM NEW.head) EXECUTE FUNCTION note_branch_move();
CREATE TRIGGER branches_note_removal AFTER DELETE ON branches
  FOR EACH ROW EXECUTE FUNCTION note_branch_move();
