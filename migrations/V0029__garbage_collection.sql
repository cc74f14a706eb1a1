-- Garbage collection: what may be deleted, and by whom. New tables, a new function, and an index on nodes, which blocks commits
-- while it is built (seconds per million nodes).
--
-- An object of a store is deleted in three steps: a collection finds that nothing refers to it (a row in gc_candidates); a later
-- one, a grace afterwards, finds the same and marks the row as doomed; then the object is removed. Transactions that refer to
-- an older object again take its row away or are refused (rescue_objects), so nothing becomes referenced once it is doomed.

-- Collections read the addresses of nodes by repository.
CREATE INDEX nodes_by_repository ON nodes (repo_id, nid);

-- One row. One collection runs at a time, under this lease; every transaction of it locks the row, so that a server that lost
-- the lease changes nothing any more. The floor: servers that register never make addresses that are older.
CREATE TABLE gc_control (
  id               boolean PRIMARY KEY DEFAULT true CHECK (id),
  lease_owner      bigint,
  lease_until      timestamptz,
  address_floor_ms bigint NOT NULL DEFAULT 0,
  removals         bigint NOT NULL DEFAULT 0        -- grows when commits or part lists are removed: servers forget theirs
);
INSERT INTO gc_control DEFAULT VALUES;
-- A sequence that was never used shows the same number before and after it is used for the first time.
SELECT nextval('node_nids');

-- A row for each repository that was collected, or is asked to be. The next collection starts when every operation has ended
-- that began before the number fence_nid of node_nids was taken, which was when the collection fenced_run had ended: since
-- then no operation holds an address that it found unreferenced without having been through rescue_objects.
CREATE TABLE gc_repositories (
  repo_id      integer PRIMARY KEY,
  run          bigint NOT NULL DEFAULT 0,           -- of the newest collection
  fenced_run   bigint NOT NULL DEFAULT 0,
  fence_nid    bigint NOT NULL DEFAULT 0,
  due_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  requested_by text COLLATE "C",                    -- NULL: by schedule
  share_max    integer NOT NULL DEFAULT 0,          -- percent that a request permits; 0 = the server's setting
  emptied      boolean NOT NULL DEFAULT false       -- a deleted repository of which nothing is left
);
CREATE INDEX gc_repositories_by_due ON gc_repositories (due_at);

CREATE TABLE gc_runs (
  repo_id    integer NOT NULL,
  run        bigint NOT NULL,
  state      text NOT NULL CHECK (state IN ('running', 'done', 'refused', 'failed', 'interrupted')),
  actor      text COLLATE "C" NOT NULL DEFAULT '',  -- '' = by schedule
  started_ms bigint NOT NULL,
  ended_ms   bigint,
  error      text NOT NULL DEFAULT '',
  counts     bigint[] NOT NULL DEFAULT '{}',        -- in the order of core/gc/collection_counts.h
  PRIMARY KEY (repo_id, run)
);

-- address: 13 bytes, an own object; 8 bytes, the id of a part list.
CREATE TABLE gc_candidates (
  repo_id    integer NOT NULL,
  address    bytea NOT NULL,
  size_bytes bigint NOT NULL,
  run        bigint NOT NULL,                       -- that found it first
  found_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  doomed_in  bigint,                                -- the run that decided to remove it
  removed    boolean NOT NULL DEFAULT false,        -- kept until no operation can hold the address any more
  PRIMARY KEY (repo_id, address)
);

-- Commits that stay whatever refs do, until a time.
CREATE TABLE gc_holds (
  repo_id    integer NOT NULL,
  hold_id    text COLLATE "C" NOT NULL,
  commit_id  bytea NOT NULL,
  until_ms   bigint,                                -- NULL: until it is removed
  reason     text NOT NULL,
  actor      text COLLATE "C" NOT NULL,
  created_ms bigint NOT NULL,
  PRIMARY KEY (repo_id, hold_id)
);

-- Called in a transaction that refers to these addresses, after it has written the reference: they are candidates no more.
-- false: some are doomed, and the transaction must be rolled back. p_owners: whose they are; 0 = p_repo. Rows are locked in order,
-- as the collection locks them.
CREATE FUNCTION rescue_objects(p_repo integer, p_owners integer[], p_addresses bytea[])
RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_doomed boolean;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'referring to objects needs read committed isolation';
  END IF;
  SELECT bool_or(f.doomed_in IS NOT NULL) INTO v_doomed FROM (
    SELECT c.doomed_in
    FROM unnest(p_owners, p_addresses) AS u(owner_id, address)
    JOIN gc_candidates c ON c.repo_id = coalesce(nullif(u.owner_id, 0), p_repo) AND c.address = u.address
    ORDER BY c.repo_id, c.address FOR UPDATE OF c) AS f;
  IF v_doomed IS NULL THEN RETURN true; END IF;
  IF v_doomed THEN RETURN false; END IF;
  DELETE FROM gc_candidates c USING unnest(p_owners, p_addresses) AS u(owner_id, address)
  WHERE c.repo_id = coalesce(nullif(u.owner_id, 0), p_repo) AND c.address = u.address;
  RETURN true;
END
$$;

-- Locks the collection's lease against takeover until the transaction ends; false: another server has it.
CREATE FUNCTION hold_collection(p_owner bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT lease_owner = p_owner FROM gc_control FOR SHARE
$$;

-- As in V0016, and for a commit that exists already, made by an earlier branch, and is removed meanwhile.
CREATE OR REPLACE FUNCTION publish_commit(
  p_writer bigint, p_owner bigint, p_repo integer, p_branch integer, p_expected_head bytea, p_drained bigint[],
  p_read bytea[],
  p_nids bigint[], p_levels smallint[], p_hashes bytea[], p_bodies bytea[],
  p_commit bytea, p_generation bigint, p_parents bytea[], p_root_nid bigint, p_root_hash bytea,
  p_committer text, p_message text, p_metadata text[], p_created_ms bigint, p_settings bigint,
  p_clean boolean)
RETURNS smallint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_root  bigint;
  v_found integer;
BEGIN
  IF hold_repository(p_repo) <> p_settings THEN RETURN 3; END IF;
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
  IF NOT FOUND THEN
    -- Garbage collection removed the row that was there. Raised, not returned: the nodes above must not stay.
    RAISE EXCEPTION 'the commit was removed' USING ERRCODE = 'TN003';
  END IF;
  PERFORM pg_advisory_xact_lock(1, p_branch);
  UPDATE branches SET
    head = p_commit, root_nid = v_root, root_hash = p_root_hash,
    sealed = ARRAY(SELECT t FROM unnest(sealed) WITH ORDINALITY AS s(t, i) WHERE t <> ALL (p_drained) ORDER BY i),
    version = version + 1, lease_owner = NULL, lease_until = NULL
  WHERE branch_id = p_branch AND lease_owner = p_owner AND head = p_expected_head AND sealed @> p_drained
    AND NOT (p_clean AND EXISTS (SELECT 1 FROM staging s WHERE s.token = branches.token AND s.conditional));
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
