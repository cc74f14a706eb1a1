-- Quotas: limits of what is stored, and counters that the statement that stages an object increases. New tables and
-- functions; no existing table changes, and writes that no quota counts execute none of this.

-- A quota counts the objects of one repository or all, stored by one user or all, on the branches of a glob or all. `bytes` and
-- `objects` are exact sums of what was charged, because every charge locks the row until its transaction ends; core/accounting
-- corrects them when objects are no longer referenced. No index contains a column that changes with a write, and the pages
-- have room, so that the updates of a row stay in its page.
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
  recounts      bigint NOT NULL DEFAULT 0,           -- that were applied; of two that ran at once, one is
  counted_ms    bigint,                              -- end of the last one
  due_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
  refused       boolean NOT NULL DEFAULT false,      -- a write was refused since the last recount or change of the limits
  UNIQUE (repo_id, user_name, branches)
) WITH (fillfactor = 20);

-- The objects that a quota of a user or of branches has counted: only these rows say whose they are. A quota of a whole
-- repository has none.
CREATE TABLE quota_objects (
  quota_id   integer NOT NULL,
  repo_id    integer NOT NULL,
  address    bytea NOT NULL,                         -- 13 bytes
  branch_id  integer NOT NULL,
  size_bytes bigint NOT NULL,
  PRIMARY KEY (quota_id, repo_id, address)
);

-- The event that a limit was passed, for the webhooks of the repository that was written to.
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

-- Counts objects in the transaction that stages them, if it has (p_status 0), and returns p_status. The three arrays have one
-- element for each quota and object. Rows are locked in order, after those of the staging area. TN507: a hard limit would be
-- exceeded, and nothing was staged. An object without bytes is refused by a limit of objects only.
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
