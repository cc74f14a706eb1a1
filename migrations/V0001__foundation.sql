-- The first schema: repositories, history, staging, leases and jobs, users. New tables only, so nothing is locked.
-- Lock classes of pg_advisory_xact_lock(class, id): 1 = the staging area of a branch (id = branch_id).

-- Facts of this installation; values are sealed where they are secret.
CREATE TABLE settings (
  key   text COLLATE "C" PRIMARY KEY,
  value bytea NOT NULL
);

-- A deleted repository keeps its row: its namespace may never be used again, its id is never reused.
CREATE TABLE repositories (
  repo_id           integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name              text COLLATE "C" NOT NULL,
  storage_namespace text COLLATE "C" NOT NULL,
  default_branch    text COLLATE "C" NOT NULL,
  salt              bigint NOT NULL,
  read_only         boolean NOT NULL DEFAULT false,
  created_ms        bigint NOT NULL,
  metadata          text[] NOT NULL DEFAULT '{}',   -- key, value, key, value, ...
  deleted_ms        bigint
);
CREATE UNIQUE INDEX repositories_by_name ON repositories (name) WHERE deleted_ms IS NULL;
CREATE UNIQUE INDEX repositories_by_namespace ON repositories (storage_namespace);

-- Which repositories may hold addresses of another's objects: collection in the owner asks the readers too.
CREATE TABLE repository_readers (
  owner_id  integer NOT NULL,
  reader_id integer NOT NULL,
  PRIMARY KEY (owner_id, reader_id)
);

-- Ranges (level 0) and metaranges (1..n) of the manifest trees. Insert-only. nid is the address, hash the equality.
CREATE SEQUENCE node_nids CACHE 1;
CREATE TABLE nodes (
  nid     bigint PRIMARY KEY,
  repo_id integer NOT NULL,
  level   smallint NOT NULL,
  hash    bytea NOT NULL,
  body    bytea NOT NULL
);
-- Bodies are compressed by us and stay below a page: keep them inline, never try to compress again.
ALTER TABLE nodes ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE nodes SET (toast_tuple_target = 8160, autovacuum_vacuum_insert_scale_factor = 0.2);

CREATE TABLE commits (
  repo_id    integer NOT NULL,
  commit_id  bytea NOT NULL,
  generation bigint NOT NULL,
  parents    bytea[] NOT NULL,
  root_nid   bigint,                                -- NULL: the empty tree
  root_hash  bytea NOT NULL,
  committer  text NOT NULL,
  message    text NOT NULL,
  metadata   text[] NOT NULL,
  created_ms bigint NOT NULL,
  PRIMARY KEY (repo_id, commit_id)
);

-- Tokens grow: the newer token wins over the older. A token's number is never reused.
CREATE SEQUENCE staging_tokens;
CREATE TABLE branches (
  repo_id     integer NOT NULL,
  name        text COLLATE "C" NOT NULL,
  branch_id   integer GENERATED ALWAYS AS IDENTITY UNIQUE,
  head        bytea NOT NULL,
  root_nid    bigint,                               -- of head, kept here for the one-statement read
  root_hash   bytea NOT NULL,
  token       bigint NOT NULL,                      -- writes go here
  sealed      bigint[] NOT NULL DEFAULT '{}',       -- frozen for ever, newest first
  version     bigint NOT NULL DEFAULT 1,            -- grows with every change of this row's refs
  hidden      boolean NOT NULL DEFAULT false,
  has_ranges  boolean NOT NULL DEFAULT false,       -- some token may have staging_ranges rows
  lease_owner bigint,
  lease_until timestamptz,
  PRIMARY KEY (repo_id, name)
) WITH (fillfactor = 50);
ALTER TABLE branches SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

CREATE TABLE tags (
  repo_id   integer NOT NULL,
  name      text COLLATE "C" NOT NULL,
  commit_id bytea NOT NULL,
  PRIMARY KEY (repo_id, name)
);

-- One row per changed path: kind 0 = the entry in val, 1 = deleted.
CREATE TABLE staging (
  token bigint NOT NULL,
  key   bytea NOT NULL,
  kind  smallint NOT NULL,
  val   bytea NOT NULL,
  PRIMARY KEY (token, key)
) WITH (fillfactor = 90);
ALTER TABLE staging SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
                         autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_analyze_scale_factor = 0.1);

-- Changes of all keys in [lo, hi): kind 1 = deleted (hides older tokens and the tree), 2 = reset (hides older tokens
-- only). Older than every point row of its own token; a token has the rows of one operation at most.
CREATE TABLE staging_ranges (
  token bigint NOT NULL,
  lo    bytea NOT NULL,
  hi    bytea,                                      -- NULL: no end
  kind  smallint NOT NULL,
  PRIMARY KEY (token, lo)
);

-- Tokens no branch refers to any more; their rows go after a grace that outlives every reader.
CREATE TABLE retired_tokens (
  token      bigint PRIMARY KEY,
  retired_at timestamptz NOT NULL
);

-- One row per running server process: the oldest node address and object address it may still publish.
CREATE SEQUENCE writer_ids;
CREATE TABLE writers (
  writer_id        bigint PRIMARY KEY,
  nid_floor        bigint NOT NULL,
  address_floor_ms bigint NOT NULL,
  expires_at       timestamptz NOT NULL
);

-- Multipart uploads and handed-out physical addresses: both may still be published, so both count as floors.
CREATE TABLE uploads (
  upload_id  text COLLATE "C" PRIMARY KEY,
  kind       text NOT NULL CHECK (kind IN ('multipart', 'link')),
  repo_id    integer NOT NULL,
  branch_id  integer NOT NULL,
  ref_name   text COLLATE "C" NOT NULL,
  key        bytea NOT NULL,
  entry      bytea NOT NULL,                        -- attributes of the object to be
  owner      text NOT NULL,
  checksum_algorithm text NOT NULL DEFAULT '',
  checksum_type      text NOT NULL DEFAULT '',
  created_ms bigint NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX uploads_by_key ON uploads (branch_id, key, upload_id);
CREATE TABLE upload_parts (
  upload_id   text COLLATE "C" NOT NULL REFERENCES uploads ON DELETE CASCADE,
  part_number integer NOT NULL,
  entry       bytea NOT NULL,                       -- address, size, md5, checksums and time of the part
  PRIMARY KEY (upload_id, part_number)
);

-- The parts of multipart objects: immutable, referenced from entries by id.
CREATE TABLE part_lists (
  part_list_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  repo_id      integer NOT NULL,
  body         bytea NOT NULL
);

-- Long work: leased, so that another process goes on when one dies.
CREATE TABLE jobs (
  job_id      text COLLATE "C" PRIMARY KEY,
  kind        text NOT NULL,
  repo_id     integer NOT NULL,
  branch_id   integer NOT NULL,
  state       text NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
  spec        bytea NOT NULL,
  checkpoint  bytea NOT NULL DEFAULT '',
  progress    bigint NOT NULL DEFAULT 0,
  result      bytea NOT NULL DEFAULT '',
  error       text NOT NULL DEFAULT '',
  owner       text NOT NULL,
  lease_owner bigint,
  lease_until timestamptz,
  created_ms  bigint NOT NULL,
  updated_ms  bigint NOT NULL
);
CREATE INDEX jobs_open ON jobs (created_ms) WHERE state IN ('queued', 'running');

CREATE TABLE users (
  user_id       integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name          text COLLATE "C" NOT NULL UNIQUE,
  created_ms    bigint NOT NULL
);
-- secret is sealed with the installation's key: SigV4 needs the plain text back.
CREATE TABLE credentials (
  access_key_id text COLLATE "C" PRIMARY KEY,
  user_id       integer NOT NULL REFERENCES users ON DELETE CASCADE,
  secret        bytea NOT NULL,
  created_ms    bigint NOT NULL
);

-- What stage functions and publish answer.
--   0 done   1 branch gone   2 writer gone (the process lost its row: redo the work)   3 changed (read again)

CREATE FUNCTION writer_lives(p_writer bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (SELECT 1 FROM writers WHERE writer_id = p_writer AND expires_at > clock_timestamp())
$$;

-- The order matters: the lock is taken in a statement before the one that reads the token, so that the token read is
-- the one of after the wait. Under a snapshot isolation level the second statement would still see the old token.
CREATE FUNCTION stage_entries(p_writer bigint, p_branch integer, p_keys bytea[], p_kinds smallint[], p_vals bytea[])
RETURNS smallint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_token bigint;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'staging needs read committed isolation';
  END IF;
  PERFORM pg_advisory_xact_lock_shared(1, p_branch);
  SELECT token INTO v_token FROM branches WHERE branch_id = p_branch;
  IF v_token IS NULL THEN RETURN 1; END IF;
  IF NOT writer_lives(p_writer) THEN RETURN 2; END IF;
  INSERT INTO staging (token, key, kind, val)
  SELECT v_token, k, kd, v FROM unnest(p_keys, p_kinds, p_vals) AS u(k, kd, v)
  ON CONFLICT (token, key) DO UPDATE SET kind = excluded.kind, val = excluded.val;
  RETURN 0;
END
$$;

-- Writes one key only if nothing that decides its visible state has changed since the caller read it: the token, the
-- committed root, and the key's row in that token (kind and bytes, or its absence: NULLs).
CREATE FUNCTION stage_entry_if(p_writer bigint, p_branch integer, p_token bigint, p_root bigint,
                               p_expected_kind smallint, p_expected_val bytea,
                               p_key bytea, p_kind smallint, p_val bytea)
RETURNS smallint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_token bigint;
  v_root  bigint;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'staging needs read committed isolation';
  END IF;
  PERFORM pg_advisory_xact_lock_shared(1, p_branch);
  SELECT token, root_nid INTO v_token, v_root FROM branches WHERE branch_id = p_branch;
  IF v_token IS NULL THEN RETURN 1; END IF;
  IF NOT writer_lives(p_writer) THEN RETURN 2; END IF;
  IF v_token <> p_token OR v_root IS DISTINCT FROM p_root THEN RETURN 3; END IF;
  IF p_expected_kind IS NULL THEN
    INSERT INTO staging (token, key, kind, val) VALUES (v_token, p_key, p_kind, p_val) ON CONFLICT DO NOTHING;
  ELSE
    UPDATE staging SET kind = p_kind, val = p_val
    WHERE token = v_token AND key = p_key AND kind = p_expected_kind AND val = p_expected_val;
  END IF;
  IF NOT FOUND THEN RETURN 3; END IF;
  RETURN 0;
END
$$;

-- Takes the lease of a branch for a verb and, when p_rotate and something is staged, seals the current token: writers
-- hold the shared lock through their insert, so after the exclusive lock no row can enter the sealed token.
-- status: 0 done, 1 branch gone, 4 leased by another.
CREATE FUNCTION acquire_branch(p_branch integer, p_owner bigint, p_lease_ms bigint, p_rotate boolean)
RETURNS TABLE (status smallint, head bytea, root_nid bigint, root_hash bytea, token bigint, sealed bigint[],
               has_ranges boolean)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  b branches%ROWTYPE;
  v_rotate boolean;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'branch leases need read committed isolation';
  END IF;
  IF p_rotate THEN PERFORM pg_advisory_xact_lock(1, p_branch); END IF;
  SELECT * INTO b FROM branches WHERE branch_id = p_branch;
  IF NOT FOUND THEN
    RETURN QUERY SELECT 1::smallint, NULL::bytea, NULL::bigint, NULL::bytea, NULL::bigint, NULL::bigint[], false;
    RETURN;
  END IF;
  v_rotate := p_rotate AND (EXISTS (SELECT 1 FROM staging s WHERE s.token = b.token)
                            OR (b.has_ranges AND EXISTS (SELECT 1 FROM staging_ranges r WHERE r.token = b.token)));
  UPDATE branches SET
    lease_owner = p_owner,
    lease_until = clock_timestamp() + p_lease_ms * interval '1 millisecond',
    sealed = CASE WHEN v_rotate THEN branches.token || branches.sealed ELSE branches.sealed END,
    token = CASE WHEN v_rotate THEN nextval('staging_tokens') ELSE branches.token END,
    version = branches.version + v_rotate::int
  WHERE branch_id = p_branch
    AND (lease_owner IS NULL OR lease_owner = p_owner OR lease_until < clock_timestamp())
  RETURNING * INTO b;
  IF NOT FOUND THEN
    IF NOT EXISTS (SELECT 1 FROM branches WHERE branch_id = p_branch) THEN
      RETURN QUERY SELECT 1::smallint, NULL::bytea, NULL::bigint, NULL::bytea, NULL::bigint, NULL::bigint[], false;
    ELSE
      RETURN QUERY SELECT 4::smallint, NULL::bytea, NULL::bigint, NULL::bytea, NULL::bigint, NULL::bigint[], false;
    END IF;
    RETURN;
  END IF;
  RETURN QUERY SELECT 0::smallint, b.head, b.root_nid, b.root_hash, b.token, b.sealed, b.has_ranges;
END
$$;

-- One transaction makes a commit the head of its branch: nodes, the commit row, the branch row, the drained tokens.
-- p_read: commits whose trees went into this one; each must still exist. The lease makes losing the race rare, the
-- WHERE clause makes it harmless. status: 0 done, 1 branch gone, 2 writer gone, 3 changed, 5 a read commit is gone.
CREATE FUNCTION publish_commit(
  p_writer bigint, p_owner bigint, p_repo integer, p_branch integer, p_expected_head bytea, p_drained bigint[],
  p_read bytea[],
  p_nids bigint[], p_levels smallint[], p_hashes bytea[], p_bodies bytea[],
  p_commit bytea, p_generation bigint, p_parents bytea[], p_root_nid bigint, p_root_hash bytea,
  p_committer text, p_message text, p_metadata text[], p_created_ms bigint)
RETURNS smallint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_root  bigint;
  v_found integer;
BEGIN
  IF NOT writer_lives(p_writer) THEN RETURN 2; END IF;
  SELECT count(*) INTO v_found FROM (
    SELECT 1 FROM commits WHERE repo_id = p_repo AND commit_id = ANY (p_read) FOR KEY SHARE) AS present;
  IF v_found <> cardinality(p_read) THEN RETURN 5; END IF;
  INSERT INTO nodes (nid, repo_id, level, hash, body)
  SELECT n, p_repo, l, h, b FROM unnest(p_nids, p_levels, p_hashes, p_bodies) AS u(n, l, h, b);
  INSERT INTO commits (repo_id, commit_id, generation, parents, root_nid, root_hash, committer, message, metadata,
                       created_ms)
  VALUES (p_repo, p_commit, p_generation, p_parents, p_root_nid, p_root_hash, p_committer, p_message, p_metadata,
          p_created_ms)
  ON CONFLICT DO NOTHING;
  -- Two branches may make the same commit: both then use the tree of the row that is there.
  SELECT root_nid INTO v_root FROM commits WHERE repo_id = p_repo AND commit_id = p_commit FOR KEY SHARE;
  UPDATE branches SET
    head = p_commit, root_nid = v_root, root_hash = p_root_hash,
    sealed = ARRAY(SELECT t FROM unnest(sealed) WITH ORDINALITY AS s(t, i) WHERE t <> ALL (p_drained) ORDER BY i),
    version = version + 1, lease_owner = NULL, lease_until = NULL
  WHERE branch_id = p_branch AND lease_owner = p_owner AND head = p_expected_head AND sealed @> p_drained;
  IF NOT FOUND THEN
    -- Raised, not returned: the rows above must not stay.
    IF EXISTS (SELECT 1 FROM branches WHERE branch_id = p_branch) THEN
      RAISE EXCEPTION 'the branch has changed' USING ERRCODE = 'TN003';
    END IF;
    RAISE EXCEPTION 'the branch is gone' USING ERRCODE = 'TN001';
  END IF;
  INSERT INTO retired_tokens (token, retired_at) SELECT t, clock_timestamp() FROM unnest(p_drained) AS d(t);
  RETURN 0;
END
$$;

-- status: 0 done, 1 the commit is gone, 2 a branch, 3 a tag or 4 a commit has that name.
CREATE FUNCTION create_branch(p_repo integer, p_name text, p_commit bytea, p_hidden boolean)
RETURNS smallint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_root_nid  bigint;
  v_root_hash bytea;
BEGIN
  SELECT root_nid, root_hash INTO v_root_nid, v_root_hash
  FROM commits WHERE repo_id = p_repo AND commit_id = p_commit FOR KEY SHARE;
  IF NOT FOUND THEN RETURN 1; END IF;
  IF EXISTS (SELECT 1 FROM tags WHERE repo_id = p_repo AND name = p_name) THEN RETURN 3; END IF;
  IF p_name ~ '^[0-9a-f]{64}$' AND EXISTS (
       SELECT 1 FROM commits WHERE repo_id = p_repo AND commit_id = decode(p_name, 'hex')) THEN
    RETURN 4;
  END IF;
  INSERT INTO branches (repo_id, name, head, root_nid, root_hash, token, hidden)
  VALUES (p_repo, p_name, p_commit, v_root_nid, v_root_hash, nextval('staging_tokens'), p_hidden)
  ON CONFLICT (repo_id, name) DO NOTHING;
  IF NOT FOUND THEN RETURN 2; END IF;
  RETURN 0;
END
$$;
