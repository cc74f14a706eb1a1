-- Repositories that are deleted and can be restored until their rows are purged. Verbs and background work rely on the rows
-- of a deleted repository being gone, so they are put away as JSON. Commits, nodes, objects and what was derived of them
-- stay: only those rows lead there.

-- One row is a row of a deleted repository.
CREATE TABLE deleted_rows (
  repo_id integer NOT NULL,
  source  text COLLATE "C" NOT NULL,                -- the table
  body    jsonb NOT NULL                            -- the row
);
CREATE INDEX deleted_rows_by_source ON deleted_rows (repo_id, source);

-- One row is what garbage collection and the removal of versions must know of a branch that was put away.
CREATE TABLE deleted_branches (
  branch_id integer PRIMARY KEY,
  repo_id   integer NOT NULL,
  tokens    bigint[] NOT NULL
);
CREATE INDEX deleted_branches_by_repository ON deleted_branches (repo_id);

-- Returns the tables whose rows are put away, in the order in which they are put back: webhooks last, so that putting back
-- is no event of theirs. Called by the two functions below.
CREATE FUNCTION restored_tables() RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
  SELECT ARRAY['repository_settings', 'tags', 'aliases', 'alias_history', 'pull_requests', 'pull_reviewers',
               'pull_comments', 'gate_policies', 'gate_policy_versions', 'runs', 'hook_runs', 'hook_steps', 'branches',
               'promotions', 'promotion_log', 'promotion_checks', 'promotion_approvals', 'webhooks']
$$;

-- Puts the rows of a repository away. The transaction has marked the repository as deleted, which locks its row and keeps
-- new rows out. Raises TN455 (triggers of branches). Called by meta::Repositories.
CREATE FUNCTION put_repository_away(p_repo integer) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_tables text[] := restored_tables();
BEGIN
  PERFORM let_webhooks_go(p_repo);
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

-- Puts the rows back. The transaction has taken the mark away, which locks the repository's row. Leases and reviews by
-- users that are gone do not come back. Called by meta::Repositories.
CREATE FUNCTION put_repository_back(p_repo integer) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_table text;
BEGIN
  UPDATE deleted_rows
  SET body = body || '{"lease_owner": null, "lease_until": null, "expiry_claimed_until": null}'
  WHERE repo_id = p_repo AND source = 'branches';
  DELETE FROM deleted_rows r WHERE r.repo_id = p_repo AND r.source = 'pull_reviewers'
    AND NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = (r.body->>'user_id')::integer);
  FOREACH v_table IN ARRAY restored_tables() LOOP
    EXECUTE format('INSERT INTO %1$I OVERRIDING SYSTEM VALUE
                    SELECT (jsonb_populate_record(NULL::%1$I, r.body)).* FROM deleted_rows r
                    WHERE r.repo_id = $1 AND r.source = %1$L', v_table)
    USING p_repo;
  END LOOP;
  DELETE FROM leaving_webhooks WHERE repo_id = p_repo;
  DELETE FROM deleted_rows WHERE repo_id = p_repo;
  DELETE FROM deleted_branches WHERE repo_id = p_repo;
END
$$;
