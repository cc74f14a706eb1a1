-- Retention of history: commits stay in the log while their trees go.
--
-- The tree of a commit whose data has expired is no node: commits.root_nid is the negative number of its row in
-- commit_expiries. So whatever reads the tree finds no node and says why. Collections lock the rows of commits FOR UPDATE
-- before they let their trees go, and read the roots again. Everything that makes a root of a commit, or uses its tree,
-- locks the row FOR KEY SHARE (require_kept_commits) until its transaction ends, and is refused if the data has expired.

-- One row records who let a commit's data go, when and why. It stays as long as its commit.
CREATE TABLE commit_expiries (
  expiry_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  repo_id   integer NOT NULL,
  commit_id bytea NOT NULL,
  rule      text NOT NULL,                          -- the text by which errors name it
  actor     text COLLATE "C" NOT NULL DEFAULT '',   -- '' = by the repository's rules
  reason    text NOT NULL DEFAULT '',               -- given with an early expiry; errors do not show it
  at_ms     bigint NOT NULL,
  UNIQUE (repo_id, commit_id)
);
CREATE INDEX commit_expiries_by_number ON commit_expiries (repo_id, expiry_id);

-- Refuses a tree that has expired: raises TN410, with the commit, the time and the rule, which core/db makes the error
-- `expired`. Locks nothing. Called by the functions below, meta::NodeStore and meta::require_kept.
CREATE FUNCTION require_kept_tree(p_root bigint) RETURNS void LANGUAGE plpgsql STABLE AS $$
DECLARE
  e commit_expiries%ROWTYPE;
BEGIN
  IF p_root IS NULL OR p_root >= 0 THEN RETURN; END IF;
  SELECT * INTO e FROM commit_expiries WHERE expiry_id = -p_root;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'the data of the commit has expired' USING ERRCODE = 'TN410';
  END IF;
  RAISE EXCEPTION 'commit %: its data expired on %: %', encode(e.commit_id, 'hex'),
    to_char(to_timestamp(e.at_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), e.rule
    USING ERRCODE = 'TN410';
END
$$;

-- Guarantees that those of the commits that exist are neither removed nor expire until the transaction ends; returns how
-- many exist. Locks their rows FOR KEY SHARE in the order of ids. Raises TN410 for an expired one. Commits are probed one
-- by one in the primary key, whatever the statistics: a subquery that locks rows is never flattened. Called by the
-- functions below, meta::Commits::hold and promotion::PromotionStore.
CREATE FUNCTION require_kept_commits(p_repo integer, p_commits bytea[]) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_found   bigint;
  v_expired bigint;
BEGIN
  -- The rows are locked in the order of ids, as everywhere.
  SELECT count(*), min(c.root_nid) INTO v_found, v_expired
  FROM (SELECT DISTINCT id FROM unnest(p_commits) AS u(id) ORDER BY id) AS wanted CROSS JOIN LATERAL (
    SELECT root_nid FROM commits WHERE repo_id = p_repo AND commit_id = wanted.id FOR KEY SHARE) AS c;
  PERFORM require_kept_tree(v_expired);
  RETURN v_found;
END
$$;

-- Guarantees that a row which names a commit keeps it: locks the commit against removal and expiry until the transaction
-- ends, and raises TN410 for one whose data has expired.
CREATE FUNCTION require_kept_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM require_kept_commits(NEW.repo_id, ARRAY[NEW.commit_id]);
  RETURN NEW;
END
$$;
CREATE TRIGGER tags_keep_commit BEFORE INSERT OR UPDATE OF commit_id ON tags
  FOR EACH ROW EXECUTE FUNCTION require_kept_commit();
CREATE TRIGGER aliases_keep_commit BEFORE INSERT OR UPDATE OF commit_id ON aliases
  FOR EACH ROW WHEN (NEW.commit_id IS NOT NULL) EXECUTE FUNCTION require_kept_commit();
CREATE TRIGGER hook_runs_keep_commit BEFORE INSERT ON hook_runs
  FOR EACH ROW WHEN (NEW.commit_id IS NOT NULL AND NEW.state IN ('queued', 'running')) EXECUTE FUNCTION require_kept_commit();

-- Refuses an expired tree for a branch (TN410). A transaction that makes a commit the head of a branch has locked the
-- commit, and copies its root.
CREATE FUNCTION require_kept_head() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM require_kept_tree(NEW.root_nid);
  RETURN NEW;
END
$$;
CREATE TRIGGER branches_keep_head BEFORE INSERT OR UPDATE OF root_nid ON branches
  FOR EACH ROW WHEN (NEW.root_nid < 0) EXECUTE FUNCTION require_kept_head();
