-- Retention of history: commits stay in the log while their trees go. A new table, a column of gc_control, functions and triggers;
-- nothing is rewritten.
--
-- The tree of a commit whose data has expired is no node: commits.root_nid is the negative number of its row in commit_expiries. So
-- whatever reads the tree finds no node and says why. Collections lock the rows of commits FOR UPDATE before they let their trees
-- go, and read the roots again. Everything that makes a root of a commit, or uses its tree, locks the row FOR KEY SHARE
-- (require_kept_commits) until its transaction ends, and is refused if the data has expired.

-- The record of who let a commit's data go, when and why. Rows stay as long as their commits.
CREATE TABLE commit_expiries (
  expiry_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  repo_id   integer NOT NULL,
  commit_id bytea NOT NULL,
  rule      text NOT NULL,                          -- as errors name it
  actor     text COLLATE "C" NOT NULL DEFAULT '',   -- '' = by the repository's rules
  reason    text NOT NULL DEFAULT '',               -- of an early expiry; errors do not show it
  at_ms     bigint NOT NULL,
  UNIQUE (repo_id, commit_id)
);
CREATE INDEX commit_expiries_by_number ON commit_expiries (repo_id, expiry_id);

-- When commits or part lists were removed last, or trees of commits expired: nodes that are missing shortly afterwards belonged to them.
ALTER TABLE gc_control ADD COLUMN removed_at timestamptz;

-- Refuses a tree that has expired. TN410: core/db makes it the error `expired`.
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

-- Locks those of the commits that exist against removal and expiry until the transaction ends; returns how many. Refuses expired ones.
CREATE FUNCTION require_kept_commits(p_repo integer, p_commits bytea[]) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_found   bigint;
  v_expired bigint;
BEGIN
  SELECT count(*), min(c.root_nid) INTO v_found, v_expired FROM (
    SELECT root_nid FROM commits WHERE repo_id = p_repo AND commit_id = ANY (p_commits)
    ORDER BY commit_id FOR KEY SHARE) AS c;
  PERFORM require_kept_tree(v_expired);
  RETURN v_found;
END
$$;

-- As above, before publish_commit: its lock of the repository comes before those of commits.
CREATE FUNCTION require_kept_sources(p_repo integer, p_commits bytea[]) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  IF cardinality(p_commits) = 0 THEN RETURN; END IF;
  PERFORM hold_repository(p_repo);
  PERFORM require_kept_commits(p_repo, p_commits);
END
$$;

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

-- Whoever makes a commit the head of a branch has locked it and copies its root.
CREATE FUNCTION require_kept_head() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM require_kept_tree(NEW.root_nid);
  RETURN NEW;
END
$$;
CREATE TRIGGER branches_keep_head BEFORE INSERT OR UPDATE OF root_nid ON branches
  FOR EACH ROW WHEN (NEW.root_nid < 0) EXECUTE FUNCTION require_kept_head();

-- A repository that is deleted with a grace can be restored until its rows are purged. Verbs and background work rely on the rows of
-- a deleted repository being gone, so they are put away as JSON. Commits, nodes, objects and what was derived of them stay: only
-- those rows lead there.
ALTER TABLE repositories
  ADD COLUMN purge_ms bigint,                       -- when; NULL: after the time that servers have set
  ADD COLUMN purged boolean NOT NULL DEFAULT false;
UPDATE repositories SET purged = true WHERE deleted_ms IS NOT NULL;
CREATE INDEX repositories_deleted ON repositories (repo_id) WHERE deleted_ms IS NOT NULL AND NOT purged;

CREATE TABLE deleted_rows (
  repo_id integer NOT NULL,
  source  text COLLATE "C" NOT NULL,                -- the table
  body    jsonb NOT NULL                            -- the row
);
CREATE INDEX deleted_rows_by_source ON deleted_rows (repo_id, source);

-- What of their branches garbage collection and the removal of versions must know.
CREATE TABLE deleted_branches (
  branch_id integer PRIMARY KEY,
  repo_id   integer NOT NULL,
  tokens    bigint[] NOT NULL
);
CREATE INDEX deleted_branches_by_repository ON deleted_branches (repo_id);

-- The tables in the order in which rows are put back: webhooks last, so that putting back is no event of theirs.
CREATE FUNCTION restored_tables() RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY['repository_settings', 'tags', 'aliases', 'alias_history', 'pull_requests', 'pull_approvals',
               'gate_policies', 'gate_policy_versions', 'runs', 'hook_runs', 'hook_steps', 'branches', 'promotions',
               'promotion_log', 'promotion_checks', 'promotion_approvals', 'webhooks']
$$;

-- In the transaction that has marked the repository as deleted.
CREATE FUNCTION put_repository_away(p_repo integer) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_tables text[] := restored_tables();
BEGIN
  DELETE FROM webhook_deliveries d USING webhooks w WHERE w.repo_id = p_repo AND d.webhook_id = w.webhook_id;
  PERFORM set_config('tarn.promotion', 'on', true);  -- deleting a repository includes its protected branches
  FOR i IN REVERSE cardinality(v_tables)..1 LOOP
    EXECUTE format('WITH gone AS (DELETE FROM %1$I WHERE repo_id = $1 RETURNING *)
                    INSERT INTO deleted_rows (repo_id, source, body) SELECT $1, %1$L, to_jsonb(gone) FROM gone', v_tables[i])
    USING p_repo;
  END LOOP;
  PERFORM set_config('tarn.promotion', '', true);
  INSERT INTO deleted_branches (branch_id, repo_id, tokens)
  SELECT (r.body->>'branch_id')::integer, p_repo,
         (r.body->>'token')::bigint || ARRAY(SELECT t::bigint FROM jsonb_array_elements_text(r.body->'sealed') AS t)
  FROM deleted_rows r WHERE r.repo_id = p_repo AND r.source = 'branches';
END
$$;

-- In the transaction that has taken the mark away. Approvals of users that are gone go too.
CREATE FUNCTION put_repository_back(p_repo integer) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_table text;
BEGIN
  UPDATE deleted_rows
  SET body = body || '{"lease_owner": null, "lease_until": null, "expiry_claimed_until": null}'
  WHERE repo_id = p_repo AND source = 'branches';
  DELETE FROM deleted_rows r WHERE r.repo_id = p_repo AND r.source = 'pull_approvals'
    AND NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = (r.body->>'user_id')::integer);
  FOREACH v_table IN ARRAY restored_tables() LOOP
    EXECUTE format('INSERT INTO %1$I OVERRIDING SYSTEM VALUE
                    SELECT (jsonb_populate_record(NULL::%1$I, r.body)).* FROM deleted_rows r
                    WHERE r.repo_id = $1 AND r.source = %1$L', v_table)
    USING p_repo;
  END LOOP;
  DELETE FROM deleted_rows WHERE repo_id = p_repo;
  DELETE FROM deleted_branches WHERE repo_id = p_repo;
END
$$;
