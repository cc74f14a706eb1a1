-- Quotas of metadata: bytes that users store in the database itself. Locks quotas and the tables that get
-- a trigger for a moment each and reads no row of them; new columns without a default, a new table.

ALTER TABLE quotas ADD COLUMN soft_metadata bigint, ADD COLUMN hard_metadata bigint;

-- Counts of the quotas that limit metadata. They have a table of their own, since its rows are locked last in a transaction, those of quotas
-- before other locks. A row appears with the first recount, which every change of the limits makes due.
CREATE TABLE quota_metadata (
  quota_id integer PRIMARY KEY REFERENCES quotas ON DELETE CASCADE,
  bytes    bigint NOT NULL
) WITH (fillfactor = 20);

-- The bytes of a run that the API recorded; values that were read from commits and files are paid with those.
CREATE FUNCTION run_metadata_bytes(p_repo integer, p_run text) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT 200 + octet_length(array_to_string(r.artifacts, '')) + octet_length(r.ci_url) + octet_length(r.source_user)
    + (SELECT coalesce(sum(100 + octet_length(m.name) + octet_length(m.split)), 0) FROM metrics m
       WHERE m.repo_id = r.repo_id AND m.commit_id = r.commit_id AND m.source = r.run_id)
    + (SELECT coalesce(sum(100 + octet_length(p.name) + octet_length(p.value)), 0) FROM params p
       WHERE p.repo_id = r.repo_id AND p.commit_id = r.commit_id AND p.source = r.run_id)
  FROM runs r WHERE r.repo_id = p_repo AND r.run_id = p_run
$$;

-- Counts bytes for the quotas of the repository, of the user, and of both. TN508: a hard limit would be exceeded; not with p_always,
-- for what follows from permitted changes and for removals.
CREATE FUNCTION charge_metadata(p_repo integer, p_user text, p_bytes bigint, p_always boolean) RETURNS void
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_quota quotas%ROWTYPE;
  v_bytes bigint;
BEGIN
  FOR v_quota IN
    SELECT * FROM quotas q
    WHERE q.repo_id IN (0, p_repo) AND q.user_name IN ('', p_user) AND q.branches = ''
      AND (q.soft_metadata IS NOT NULL OR q.hard_metadata IS NOT NULL)
    ORDER BY q.quota_id
  LOOP
    INSERT INTO quota_metadata AS m (quota_id, bytes) VALUES (v_quota.quota_id, p_bytes)
    ON CONFLICT (quota_id) DO UPDATE SET bytes = m.bytes + p_bytes
    RETURNING m.bytes INTO v_bytes;
    IF v_bytes > v_quota.hard_metadata AND NOT p_always THEN
      RAISE EXCEPTION USING ERRCODE = 'TN508', MESSAGE = format(
        'a quota is exceeded: %s of %s metadata_bytes are used, %s more do not fit; commits, runs and events count: '
        'delete what is not needed, or have it raised with tarn quota set --metadata-bytes',
        v_bytes - p_bytes, v_quota.hard_metadata, p_bytes);
    END IF;
    IF v_bytes > v_quota.soft_metadata AND v_bytes - p_bytes <= v_quota.soft_metadata THEN
      PERFORM tell_quota(p_repo, 'quota.warning', v_quota.quota_id, 'metadata_bytes');
    END IF;
  END LOOP;
END
$$;

CREATE FUNCTION commit_metadata_bytes(c commits) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT 200 + octet_length(c.message) + octet_length(c.committer) + octet_length(array_to_string(c.metadata, ''))
$$;
CREATE FUNCTION charge_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM charge_metadata(NEW.repo_id, coalesce(NEW.made_by, ''), commit_metadata_bytes(NEW), false);
  RETURN NULL;
END
$$;
-- Deferred, like the others: their locks come last.
CREATE CONSTRAINT TRIGGER commits_charge AFTER INSERT ON commits DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION charge_commit();

-- Rows that belong to their repository. The argument is p_always. The output of a hook counts when it has ended.
CREATE FUNCTION charge_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM charge_metadata(NEW.repo_id, '', 200 + octet_length(NEW::text), TG_ARGV[0]::boolean);
  RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER tags_charge AFTER INSERT ON tags DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION charge_row(false);
CREATE CONSTRAINT TRIGGER pulls_charge AFTER INSERT ON pull_requests DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION charge_row(false);
CREATE CONSTRAINT TRIGGER promotions_charge AFTER INSERT ON promotions DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION charge_row(false);
CREATE CONSTRAINT TRIGGER promotion_checks_charge AFTER INSERT ON promotion_checks DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION charge_row(false);
CREATE CONSTRAINT TRIGGER gate_policy_versions_charge AFTER INSERT ON gate_policy_versions DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION charge_row(false);
CREATE CONSTRAINT TRIGGER alias_history_charge AFTER INSERT ON alias_history DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION charge_row(true);
CREATE CONSTRAINT TRIGGER events_charge AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION charge_row(true);
CREATE CONSTRAINT TRIGGER hook_steps_charge AFTER INSERT OR UPDATE ON hook_steps DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.ended_ms IS NOT NULL) EXECUTE FUNCTION charge_row(true);

-- The bytes that a quota counts, all read again.
CREATE FUNCTION count_metadata(p_repo integer, p_user text) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT (SELECT coalesce(sum(commit_metadata_bytes(c)), 0) FROM commits c
          WHERE (p_repo = 0 OR c.repo_id = p_repo) AND (p_user = '' OR c.made_by = p_user))::bigint
    + (SELECT coalesce(sum(run_metadata_bytes(r.repo_id, r.run_id)), 0) FROM runs r
       WHERE (p_repo = 0 OR r.repo_id = p_repo) AND (p_user = '' OR r.owner = p_user))::bigint
    + CASE WHEN p_user <> '' THEN 0 ELSE (
        SELECT coalesce(sum(200 + octet_length(line)), 0) FROM (
          SELECT t::text AS line FROM tags t WHERE t.repo_id = p_repo
          UNION ALL SELECT t::text FROM pull_requests t WHERE t.repo_id = p_repo
          UNION ALL SELECT t::text FROM promotions t WHERE t.repo_id = p_repo
          UNION ALL SELECT t::text FROM promotion_checks t WHERE t.repo_id = p_repo
          UNION ALL SELECT t::text FROM gate_policy_versions t WHERE t.repo_id = p_repo
          UNION ALL SELECT t::text FROM alias_history t WHERE t.repo_id = p_repo
          UNION ALL SELECT t::text FROM events t WHERE t.repo_id = p_repo
          UNION ALL SELECT t::text FROM hook_steps t WHERE t.repo_id = p_repo AND t.ended_ms IS NOT NULL) AS all_rows
      )::bigint END
$$;
