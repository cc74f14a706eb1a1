-- Quotas: limits of what is stored, and counters that the statement that stages an object increases. Writes that no quota
-- counts execute none of this.

-- One row limits the objects of one repository or all, stored by one user or all, on the branches of a glob or all, and
-- counts them. `bytes` and `objects` are exact sums of what was charged, because every charge locks the row until its
-- transaction ends; core/accounting corrects them when objects are no longer referenced. No index contains a column that
-- changes with a write, and the pages have room, so that the updates of a row stay in its page.
CREATE TABLE quotas (
  quota_id      integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  repo_id       integer NOT NULL,                    -- 0: all repositories
  user_name     text COLLATE "C" NOT NULL,           -- '': all users
  branches      text COLLATE "C" NOT NULL,           -- a glob; '': all branches
  soft_bytes    bigint,                              -- NULL: no limit
  hard_bytes    bigint,
  soft_objects  bigint,
  hard_objects  bigint,
  soft_branches bigint,
  hard_branches bigint,
  soft_uploads  bigint,
  hard_uploads  bigint,
  bytes         bigint NOT NULL DEFAULT 0,
  objects       bigint NOT NULL DEFAULT 0,
  recounts      bigint NOT NULL DEFAULT 0,           -- recounts that were applied; of two that ran at once, one is
  counted_ms    bigint,                              -- end of the last one
  due_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  refused       boolean NOT NULL DEFAULT false,      -- a write was refused since the last recount or change of the limits
  soft_metadata bigint,                              -- bytes that users store in the database itself
  hard_metadata bigint,
  UNIQUE (repo_id, user_name, branches)
) WITH (fillfactor = 20);

-- One row is an object that a quota of a user or of branches has counted: only these rows name its owner. A quota of a
-- whole repository has none.
CREATE TABLE quota_objects (
  quota_id   integer NOT NULL,
  repo_id    integer NOT NULL,
  address    bytea NOT NULL,                         -- 13 bytes
  branch_id  integer NOT NULL,
  size_bytes bigint NOT NULL,
  PRIMARY KEY (quota_id, repo_id, address)
);

-- One row is the count of a quota that limits metadata. It is apart from quotas, since these rows are locked last in a
-- transaction, those of quotas before other locks. A row appears with the first recount, which every change of the limits
-- makes due.
CREATE TABLE quota_metadata (
  quota_id integer PRIMARY KEY REFERENCES quotas ON DELETE CASCADE,
  bytes    bigint NOT NULL
) WITH (fillfactor = 20);

-- Emits the event that a limit was exceeded, for the webhooks of the repository that was written to. Called by the charging
-- functions and quotas::Quotas.
CREATE FUNCTION tell_quota(p_repo integer, p_type text, p_quota integer, p_what text)
RETURNS void LANGUAGE sql VOLATILE AS $$
  SELECT emit_event(p_repo, p_type, jsonb_strip_nulls(jsonb_build_object(
    'scope', CASE WHEN q.repo_id = 0 THEN 'all_repositories' ELSE 'repository' END, 'user', nullif(q.user_name, ''),
    'branches', nullif(q.branches, ''), 'limited', p_what, 'bytes', q.bytes, 'objects', q.objects,
    'soft_bytes', q.soft_bytes, 'hard_bytes', q.hard_bytes, 'soft_objects', q.soft_objects, 'hard_objects', q.hard_objects,
    'soft_branches', q.soft_branches, 'hard_branches', q.hard_branches,
    'soft_uploads', q.soft_uploads, 'hard_uploads', q.hard_uploads)))
  FROM quotas q WHERE q.quota_id = p_quota
$$;

-- Counts objects in the transaction that stages them, if it has (p_status 0), and returns p_status. Guarantees that no hard
-- limit is exceeded. The three arrays have one element for each quota and object. An object without bytes is refused by a
-- limit of objects only. Locks the rows of quotas by id, after those of the staging area. Raises TN507 if a hard limit
-- would be exceeded, and nothing was staged. Called by meta::Staging, around the staging functions, and objects::Uploads.
CREATE FUNCTION charge_quotas(p_status integer, p_branch integer, p_quotas integer[], p_addresses bytea[], p_sizes bigint[])
RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_repo  integer;
  v_added record;
  v_quota quotas%ROWTYPE;
BEGIN
  IF p_status <> 0 OR cardinality(p_quotas) = 0 THEN RETURN p_status; END IF;
  SELECT repo_id INTO v_repo FROM branches WHERE branch_id = p_branch;
  IF v_repo IS NULL THEN RETURN p_status; END IF;  -- an upload's branch that is just deleted
  FOR v_added IN
    SELECT q AS quota_id, sum(s)::bigint AS bytes, count(*) AS objects
    FROM unnest(p_quotas, p_sizes) AS u(q, s) GROUP BY q ORDER BY q
  LOOP
    UPDATE quotas q SET bytes = q.bytes + v_added.bytes, objects = q.objects + v_added.objects
    WHERE q.quota_id = v_added.quota_id
      AND (v_added.bytes = 0 OR q.hard_bytes IS NULL OR q.bytes + v_added.bytes <= q.hard_bytes)
      AND (q.hard_objects IS NULL OR q.objects + v_added.objects <= q.hard_objects)
    RETURNING q.* INTO v_quota;
    IF NOT FOUND THEN
      IF EXISTS (SELECT 1 FROM quotas WHERE quota_id = v_added.quota_id) THEN
        RAISE EXCEPTION 'quota % is exceeded', v_added.quota_id USING ERRCODE = 'TN507';
      END IF;
      CONTINUE;  -- it was removed
    END IF;
    IF v_quota.repo_id = 0 OR v_quota.user_name <> '' OR v_quota.branches <> '' THEN
      INSERT INTO quota_objects (quota_id, repo_id, address, branch_id, size_bytes)
      SELECT q, v_repo, a, p_branch, s FROM unnest(p_quotas, p_addresses, p_sizes) AS u(q, a, s)
      WHERE q = v_added.quota_id
      ON CONFLICT (quota_id, repo_id, address) DO NOTHING;
    END IF;
    IF v_quota.bytes > v_quota.soft_bytes AND v_quota.bytes - v_added.bytes <= v_quota.soft_bytes THEN
      PERFORM tell_quota(v_repo, 'quota.warning', v_quota.quota_id, 'bytes');
    END IF;
    IF v_quota.objects > v_quota.soft_objects AND v_quota.objects - v_added.objects <= v_quota.soft_objects THEN
      PERFORM tell_quota(v_repo, 'quota.warning', v_quota.quota_id, 'objects');
    END IF;
  END LOOP;
  RETURN 0;
END
$$;

-- Returns the bytes of a run that the API recorded, without its curves; values that were read from commits and files are
-- paid with those. Called by run_metadata_bytes, runs::RunStore and runs::LiveRunStore.
CREATE FUNCTION run_values_bytes(p_repo integer, p_run text) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT 200 + octet_length(array_to_string(r.artifacts || r.objects, '')) + octet_length(r.ci_url) + octet_length(r.source_user)
    + octet_length(r.name) + octet_length(r.notes) + octet_length(array_to_string(r.tags, ''))
    + (SELECT coalesce(sum(100 + octet_length(m.name) + octet_length(m.split)), 0) FROM metrics m
       WHERE m.repo_id = r.repo_id AND m.source = r.run_id AND m.origin = 0)
    + (SELECT coalesce(sum(100 + octet_length(p.name) + octet_length(p.value)), 0) FROM params p
       WHERE p.repo_id = r.repo_id AND p.source = r.run_id AND p.origin = 0)
  FROM runs r WHERE r.repo_id = p_repo AND r.run_id = p_run
$$;

-- Returns the bytes of a run with its curves. Called by count_metadata.
CREATE FUNCTION run_metadata_bytes(p_repo integer, p_run text) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT run_values_bytes(p_repo, p_run)
    + (SELECT coalesce(sum(100 + octet_length(c.name) + octet_length(c.body)), 0) FROM run_points c
       WHERE c.repo_id = p_repo AND c.run_id = p_run)::bigint
$$;

-- Returns the bytes of a commit. Called by charge_commit and count_metadata.
CREATE FUNCTION commit_metadata_bytes(c commits) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT 200 + octet_length(c.message) + octet_length(c.committer) + octet_length(array_to_string(c.metadata, ''))
$$;

-- Counts bytes of the database for the quotas of the repository, of the user, and of both. Locks the rows of quota_metadata
-- by id, the last locks of every order. Raises TN508 if a hard limit would be exceeded, which core/db reads; not with
-- p_always, for what follows from permitted changes and for removals. Called by the triggers below and runs::RunStore.
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

-- Counts a new commit. Rows are measured only where there is a quota of metadata. All *_charge triggers are deferred to the
-- end of the transaction: their locks come last.
CREATE FUNCTION charge_commit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM quotas
             WHERE repo_id IN (0, NEW.repo_id) AND (soft_metadata IS NOT NULL OR hard_metadata IS NOT NULL)) THEN
    PERFORM charge_metadata(NEW.repo_id, coalesce(NEW.made_by, ''), commit_metadata_bytes(NEW), false);
  END IF;
  RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER commits_charge AFTER INSERT ON commits DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION charge_commit();

-- Counts rows that belong to their repository. The argument is p_always. The output of a hook counts when it has ended.
CREATE FUNCTION charge_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM quotas
             WHERE repo_id IN (0, NEW.repo_id) AND (soft_metadata IS NOT NULL OR hard_metadata IS NOT NULL)) THEN
    PERFORM charge_metadata(NEW.repo_id, '', 200 + octet_length(NEW::text), TG_ARGV[0]::boolean);
  END IF;
  RETURN NULL;
END
$$;
CREATE CONSTRAINT TRIGGER tags_charge AFTER INSERT ON tags DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION charge_row(false);
CREATE CONSTRAINT TRIGGER pulls_charge AFTER INSERT ON pull_requests DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION charge_row(false);
CREATE CONSTRAINT TRIGGER pull_comments_charge AFTER INSERT OR UPDATE OF body ON pull_comments DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NOT NEW.deleted) EXECUTE FUNCTION charge_row(false);
CREATE CONSTRAINT TRIGGER promotions_charge AFTER INSERT ON promotions DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION charge_row(false);
CREATE CONSTRAINT TRIGGER promotion_checks_charge AFTER INSERT ON promotion_checks DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION charge_row(false);
CREATE CONSTRAINT TRIGGER gate_policy_versions_charge AFTER INSERT ON gate_policy_versions DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION charge_row(false);
CREATE CONSTRAINT TRIGGER alias_history_charge AFTER INSERT ON alias_history DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION charge_row(true);
CREATE CONSTRAINT TRIGGER evaluations_charge AFTER INSERT ON evaluations DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION charge_row(true);
CREATE CONSTRAINT TRIGGER evaluation_values_charge AFTER INSERT ON evaluation_values DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION charge_row(true);
CREATE CONSTRAINT TRIGGER evaluation_examples_charge AFTER INSERT ON evaluation_examples DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION charge_row(true);
CREATE CONSTRAINT TRIGGER events_charge AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION charge_row(true);
CREATE CONSTRAINT TRIGGER hook_steps_charge AFTER INSERT OR UPDATE ON hook_steps DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (NEW.ended_ms IS NOT NULL) EXECUTE FUNCTION charge_row(true);

-- Reads all the bytes that a quota of metadata counts again. Called by quotas::Quotas.
CREATE FUNCTION count_metadata(p_repo integer, p_user text) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT (SELECT coalesce(sum(commit_metadata_bytes(c)), 0) FROM commits c
          WHERE (p_repo = 0 OR c.repo_id = p_repo) AND (p_user = '' OR c.made_by = p_user))::bigint
    + (SELECT coalesce(sum(run_metadata_bytes(r.repo_id, r.run_id)), 0) FROM runs r
       WHERE (p_repo = 0 OR r.repo_id = p_repo) AND (p_user = '' OR r.owner = p_user))::bigint
    + CASE WHEN p_user <> '' THEN 0 ELSE (
        SELECT coalesce(sum(200 + octet_length(line)), 0) FROM (
          SELECT t::text AS line FROM tags t WHERE t.repo_id = p_repo
          UNION ALL SELECT t::text FROM pull_requests t WHERE t.repo_id = p_repo
          UNION ALL SELECT t::text FROM pull_comments t WHERE t.repo_id = p_repo
          UNION ALL SELECT t::text FROM promotions t WHERE t.repo_id = p_repo
          UNION ALL SELECT t::text FROM promotion_checks t WHERE t.repo_id = p_repo
          UNION ALL SELECT t::text FROM gate_policy_versions t WHERE t.repo_id = p_repo
          UNION ALL SELECT t::text FROM alias_history t WHERE t.repo_id = p_repo
          UNION ALL SELECT t::text FROM evaluations t WHERE t.repo_id = p_repo
          UNION ALL SELECT t::text FROM evaluation_values t WHERE t.repo_id = p_repo
          UNION ALL SELECT t::text FROM evaluation_examples t WHERE t.repo_id = p_repo
          UNION ALL SELECT t::text FROM events t WHERE t.repo_id = p_repo
          UNION ALL SELECT t::text FROM hook_steps t WHERE t.repo_id = p_repo AND t.ended_ms IS NOT NULL) AS all_rows
      )::bigint END
$$;
