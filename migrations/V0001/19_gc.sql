-- Garbage collection: what may be deleted, and by whom.
--
-- An object of a store is deleted in three steps: a collection finds that nothing refers to it (a row in gc_candidates); a
-- later one, a grace afterwards, finds the same and marks the row as doomed; then the object is removed. Transactions that
-- refer to an older object again take its row away or are refused (rescue_objects), so nothing becomes referenced once it
-- is doomed.

-- The only row is the lease of collections: one runs at a time, and every transaction of it locks the row, so that a server
-- that lost the lease changes nothing any more.
CREATE TABLE gc_control (
  id               boolean PRIMARY KEY DEFAULT true CHECK (id),
  lease_owner      bigint,
  lease_until      timestamptz,
  address_floor_ms bigint NOT NULL DEFAULT 0,       -- servers that register never make addresses that are older
  removals         bigint NOT NULL DEFAULT 0,       -- grows when commits or part lists are removed: servers forget theirs
  -- The time at which commits or part lists were removed last, or trees of commits expired: nodes that are missing shortly
  -- afterwards belonged to them.
  removed_at       timestamptz,
  removals_purged  bigint NOT NULL DEFAULT 0,
  -- A collection ended before it gave the space of the rows back that it had removed: the next one does.
  space_due        boolean NOT NULL DEFAULT false
);
INSERT INTO gc_control DEFAULT VALUES;

-- One row is a repository that was collected, or is asked to be. The next collection starts when every operation has ended
-- that began before the number fence_nid of node_nids was taken, which was when the collection fenced_run had ended: since
-- then no operation holds an address that it found unreferenced without having been through rescue_objects.
CREATE TABLE gc_repositories (
  repo_id      integer PRIMARY KEY,
  run          bigint NOT NULL DEFAULT 0,           -- the newest collection
  fenced_run   bigint NOT NULL DEFAULT 0,
  fence_nid    bigint NOT NULL DEFAULT 0,
  due_at       timestamptz NOT NULL DEFAULT clock_timestamp(),
  requested_by text COLLATE "C",                    -- NULL: by schedule
  share_max    integer NOT NULL DEFAULT 0,          -- percent that a request permits; 0 = the server's setting
  emptied      boolean NOT NULL DEFAULT false,      -- a deleted repository of which nothing is left
  failures     integer NOT NULL DEFAULT 0,          -- collections that failed one after the other
  retry_at     timestamptz                          -- when a request is repeated that failed; NULL: at once
);
CREATE INDEX gc_repositories_by_due ON gc_repositories (due_at);

-- One row is a collection of a repository. The four arrays group_* have the same length: what was removed, by reason and
-- branch.
CREATE TABLE gc_runs (
  repo_id         integer NOT NULL,
  run             bigint NOT NULL,
  state           text NOT NULL
    CHECK (state IN ('running', 'done', 'refused', 'failed', 'interrupted', 'cancelled')),
  actor           text COLLATE "C" NOT NULL DEFAULT '',  -- '' = by schedule
  started_ms      bigint NOT NULL,
  ended_ms        bigint,
  error           text NOT NULL DEFAULT '',
  counts          bigint[] NOT NULL DEFAULT '{}',   -- in the order of core/gc/collection_counts.h
  step            text NOT NULL DEFAULT '',         -- what the run is doing: docs/garbage-collection.md lists the steps
  step_started_ms bigint NOT NULL DEFAULT 0,
  step_done       bigint NOT NULL DEFAULT 0,        -- nodes or objects
  step_total      bigint NOT NULL DEFAULT 0,        -- an estimate; 0 = unknown
  cancelled_by    text COLLATE "C",                 -- the user who asked it to end
  failures        text[] NOT NULL DEFAULT '{}',     -- the first objects that a store did not remove: path and message
  group_reasons   smallint[] NOT NULL DEFAULT '{}',
  group_branches  text[] NOT NULL DEFAULT '{}',
  group_objects   bigint[] NOT NULL DEFAULT '{}',
  group_bytes     bigint[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (repo_id, run)
);

-- One row is an object or part list that nothing refers to. An address of 13 bytes is an own object, one of 8 bytes the id
-- of a part list.
CREATE TABLE gc_candidates (
  repo_id    integer NOT NULL,
  address    bytea NOT NULL,
  size_bytes bigint NOT NULL,
  run        bigint NOT NULL,                       -- the collection that found it first
  found_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  doomed_in  bigint,                                -- the run that decided to remove it
  removed    boolean NOT NULL DEFAULT false,        -- kept until no operation can hold the address any more
  removed_in bigint,                                -- the number of the removal (gc_control.removals), by which servers
                                                    -- remove their own copies of the object
  reason     smallint NOT NULL,                     -- core/gc/garbage.h
  branch     text COLLATE "C" NOT NULL,             -- the branch that led to it; '' = not known
  PRIMARY KEY (repo_id, address)
);
CREATE INDEX gc_candidates_removed ON gc_candidates (removed_in) WHERE removed_in IS NOT NULL;

-- One row holds a commit, whatever refs do, until a time.
CREATE TABLE gc_holds (
  repo_id    integer NOT NULL,
  hold_id    text COLLATE "C" NOT NULL,
  commit_id  bytea NOT NULL,
  until_ms   bigint,                                -- NULL: until it is removed
  reason     text NOT NULL,
  actor      text COLLATE "C" NOT NULL,
  created_ms bigint NOT NULL,
  -- A hold of the objects below a path has a commit of these alone, made for the hold.
  path       text COLLATE "C" NOT NULL DEFAULT '',
  PRIMARY KEY (repo_id, hold_id)
);

-- One row is a deleted branch that led to commits which nothing reaches now, so that plans and reports can name it. Rows go
-- when the commits have gone, or are reached by others at the end of their retention.
CREATE TABLE gc_branches (
  repo_id    integer NOT NULL,
  commit_id  bytea NOT NULL,                        -- the head when the branch was deleted
  name       text COLLATE "C" NOT NULL,
  deleted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (repo_id, commit_id, name)
);

-- Keeps name and head of a deleted branch for the plans of garbage collection.
CREATE FUNCTION note_deleted_branch() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO gc_branches (repo_id, commit_id, name) VALUES (OLD.repo_id, OLD.head, OLD.name)
  ON CONFLICT (repo_id, commit_id, name) DO UPDATE SET deleted_at = excluded.deleted_at;
  RETURN NULL;
END
$$;
CREATE TRIGGER branches_note_garbage AFTER DELETE ON branches
  FOR EACH ROW EXECUTE FUNCTION note_deleted_branch();

-- Guarantees that the objects at these addresses, to which the transaction has just written references, are not removed:
-- they are candidates no more. Returns false if some are doomed, and the transaction must be rolled back. p_owners are the
-- repositories that own the objects; 0 = p_repo. Locks the candidates' rows in the order of repository and address, as the
-- collection does, after all other locks but quota_metadata. Called by meta::References.
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

-- Guarantees that the collection's lease is not taken over until the transaction ends; false: another server has it. Locks
-- the row of gc_control FOR SHARE. Called by gc::Collections.
CREATE FUNCTION hold_collection(p_owner bigint) RETURNS boolean LANGUAGE sql VOLATILE AS $$
  SELECT lease_owner = p_owner FROM gc_control FOR SHARE
$$;
