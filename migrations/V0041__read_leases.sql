-- Read leases: a server that holds one answers reads of a branch from memory. Two tables, a sequence, a column of writers
-- with a constant default, triggers, and new versions of four functions. Creating the triggers locks branches and
-- repositories for a moment; nothing is rewritten.
--
-- While a branch has a row here, nothing that a read of it returns can change: the functions and triggers below raise
-- TN455. The writer marks the rows as revoked and waits until the holders have deleted them, or for the length of a lease
-- (core/meta/read_leases.h); then it deletes them and starts again.

CREATE SEQUENCE read_lease_numbers;

CREATE TABLE read_leases (
  branch_id integer NOT NULL,
  holder    bigint NOT NULL,                        -- a server process, by a number of its own
  number    bigint NOT NULL,                        -- of this lease; no later one has it
  repo_id   integer NOT NULL,
  revoked   boolean NOT NULL DEFAULT false,
  PRIMARY KEY (branch_id, holder)
);

-- After a write has ended leases of a branch, none is taken for a moment: of many readers one would always be between the
-- end of the leases and the write. No correctness depends on this clock.
CREATE TABLE read_lease_refusals (
  branch_id integer PRIMARY KEY,
  until     timestamptz NOT NULL
);

-- Servers of versions before this one cannot end leases: while one of them lives, none are taken.
ALTER TABLE writers ADD COLUMN ends_read_leases boolean NOT NULL DEFAULT false;

-- Pool parses the message: repository and branch, 0 for all branches of the repository.
CREATE FUNCTION raise_read_leased(p_repo integer, p_branch integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'read leases: %/%', p_repo, p_branch USING ERRCODE = 'TN455';
END
$$;

-- Taking a lease locks the rows of repository and branch FOR SHARE, so that the trigger of a concurrent change either runs
-- before, and the lease is not taken, or waits and then sees it.
CREATE FUNCTION refuse_leased_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'changes of branches need read committed isolation';
  END IF;
  IF TG_TABLE_NAME = 'repositories' THEN
    IF EXISTS (SELECT 1 FROM read_leases WHERE repo_id = OLD.repo_id) THEN
      PERFORM raise_read_leased(OLD.repo_id, 0);
    END IF;
  ELSIF EXISTS (SELECT 1 FROM read_leases WHERE branch_id = OLD.branch_id) THEN
    PERFORM raise_read_leased(OLD.repo_id, OLD.branch_id);
  END IF;
  RETURN CASE TG_OP WHEN 'DELETE' THEN OLD ELSE NEW END;
END
$$;

-- Verbs that take the write lease end read leases then, and none is taken while it lasts.
CREATE TRIGGER branches_leased_change BEFORE UPDATE ON branches FOR EACH ROW
  WHEN ((OLD.repo_id, OLD.name, OLD.head, OLD.root_nid, OLD.root_hash, OLD.token, OLD.sealed, OLD.has_ranges, OLD.hidden)
        IS DISTINCT FROM
        (NEW.repo_id, NEW.name, NEW.head, NEW.root_nid, NEW.root_hash, NEW.token, NEW.sealed, NEW.has_ranges, NEW.hidden)
        OR (NEW.lease_owner IS NOT NULL AND NEW.lease_owner IS DISTINCT FROM OLD.lease_owner))
  EXECUTE FUNCTION refuse_leased_change();
CREATE TRIGGER branches_leased_removal BEFORE DELETE ON branches FOR EACH ROW EXECUTE FUNCTION refuse_leased_change();
CREATE TRIGGER repositories_leased_change BEFORE UPDATE ON repositories FOR EACH ROW
  WHEN ((OLD.name, OLD.settings_version, OLD.deleted_ms) IS DISTINCT FROM (NEW.name, NEW.settings_version, NEW.deleted_ms))
  EXECUTE FUNCTION refuse_leased_change();

-- No row: there is no such branch, it is being written, or a lease of it is being ended. Waits for nobody. The caller
-- reads the branch in the same transaction: everything that stages waits for its end.
CREATE FUNCTION take_read_lease(p_repository text, p_branch text, p_holder bigint)
RETURNS TABLE (number bigint, repo_id integer, branch_id integer, settings_version bigint)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  v_repo     integer;
  v_settings bigint;
  v_branch   integer;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'read leases need read committed isolation';
  END IF;
  IF EXISTS (SELECT 1 FROM writers w WHERE NOT w.ends_read_leases AND w.expires_at > clock_timestamp()) THEN RETURN; END IF;
  SELECT r.repo_id, r.settings_version INTO v_repo, v_settings FROM repositories r
  WHERE r.name = p_repository AND r.deleted_ms IS NULL FOR SHARE SKIP LOCKED;
  IF NOT FOUND THEN RETURN; END IF;
  SELECT b.branch_id INTO v_branch FROM branches b WHERE b.repo_id = v_repo AND b.name = p_branch;
  IF NOT FOUND OR NOT pg_try_advisory_xact_lock(1, v_branch) THEN RETURN; END IF;
  PERFORM 1 FROM branches b
  WHERE b.branch_id = v_branch AND b.repo_id = v_repo AND b.name = p_branch
    AND (b.lease_owner IS NULL OR b.lease_until < clock_timestamp()) FOR SHARE SKIP LOCKED;
  IF NOT FOUND THEN RETURN; END IF;
  IF EXISTS (SELECT 1 FROM read_leases l WHERE l.branch_id = v_branch AND (l.revoked OR l.holder = p_holder))
     OR EXISTS (SELECT 1 FROM read_lease_refusals f WHERE f.branch_id = v_branch AND f.until > clock_timestamp()) THEN
    RETURN;
  END IF;
  RETURN QUERY INSERT INTO read_leases AS l (branch_id, holder, number, repo_id)
    VALUES (v_branch, p_holder, nextval('read_lease_numbers'), v_repo)
    RETURNING l.number, v_repo, v_branch, v_settings;
END
$$;

-- As in V0001, V0028 and V0016; none stages on a branch with read leases. take_read_lease holds the lock exclusively, and
-- the row is looked for in a statement after the one that takes the lock shared.
CREATE OR REPLACE FUNCTION stage_entries(p_writer bigint, p_branch integer, p_keys bytea[], p_kinds smallint[], p_vals bytea[])
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
  IF EXISTS (SELECT 1 FROM read_leases l WHERE l.branch_id = p_branch) THEN PERFORM raise_read_leased(0, p_branch); END IF;
  IF NOT writer_lives(p_writer) THEN RETURN 2; END IF;
  INSERT INTO staging (token, key, kind, val)
  SELECT v_token, k, kd, v FROM unnest(p_keys, p_kinds, p_vals) AS u(k, kd, v)
  ON CONFLICT (token, key) DO UPDATE SET kind = excluded.kind, val = excluded.val;
  RETURN 0;
END
$$;

CREATE OR REPLACE FUNCTION stage_entries_under(p_settings bigint, p_hold boolean, p_writer bigint, p_branch integer,
                                    p_keys bytea[], p_kinds smallint[], p_vals bytea[])
RETURNS smallint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_token bigint;
  v_settings bigint;
  v_lives boolean;
  v_leased boolean;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'staging needs read committed isolation';
  END IF;
  IF p_hold THEN PERFORM hold_repository(repo_id) FROM branches WHERE branch_id = p_branch; END IF;
  -- In a statement before the one that reads the token, which is then the one of after the wait.
  PERFORM pg_advisory_xact_lock_shared(1, p_branch);
  SELECT b.token, r.settings_version,
         EXISTS (SELECT 1 FROM writers w WHERE w.writer_id = p_writer AND w.expires_at > clock_timestamp()),
         EXISTS (SELECT 1 FROM read_leases l WHERE l.branch_id = p_branch)
  INTO v_token, v_settings, v_lives, v_leased
  FROM branches b JOIN repositories r USING (repo_id) WHERE b.branch_id = p_branch;
  IF v_token IS NULL THEN RETURN 1; END IF;
  IF v_settings <> p_settings THEN RETURN 3; END IF;
  IF NOT v_lives THEN RETURN 2; END IF;
  IF v_leased THEN PERFORM raise_read_leased(0, p_branch); END IF;
  INSERT INTO staging (token, key, kind, val)
  SELECT v_token, k, kd, v FROM unnest(p_keys, p_kinds, p_vals) AS u(k, kd, v)
  ON CONFLICT (token, key) DO UPDATE SET kind = excluded.kind, val = excluded.val;
  RETURN 0;
END
$$;

CREATE OR REPLACE FUNCTION stage_entry_if(p_writer bigint, p_branch integer, p_token bigint, p_root bigint,
                                          p_expected_kind smallint, p_expected_val bytea,
                                          p_key bytea, p_kind smallint, p_val bytea)
RETURNS smallint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_token bigint;
  v_root  bigint;
  v_leased boolean;
BEGIN
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'staging needs read committed isolation';
  END IF;
  PERFORM pg_advisory_xact_lock_shared(1, p_branch);
  SELECT token, root_nid, EXISTS (SELECT 1 FROM read_leases l WHERE l.branch_id = p_branch)
  INTO v_token, v_root, v_leased FROM branches WHERE branch_id = p_branch;
  IF v_token IS NULL THEN RETURN 1; END IF;
  IF NOT writer_lives(p_writer) THEN RETURN 2; END IF;
  IF v_token <> p_token OR v_root IS DISTINCT FROM p_root THEN RETURN 3; END IF;
  IF v_leased THEN PERFORM raise_read_leased(0, p_branch); END IF;
  IF p_expected_kind IS NULL THEN
    INSERT INTO staging (token, key, kind, val, conditional) VALUES (v_token, p_key, p_kind, p_val, true)
    ON CONFLICT DO NOTHING;
  ELSE
    UPDATE staging SET kind = p_kind, val = p_val, conditional = true
    WHERE token = v_token AND key = p_key AND kind = p_expected_kind AND val = p_expected_val;
  END IF;
  IF NOT FOUND THEN RETURN 3; END IF;
  RETURN 0;
END
$$;

-- As in V0034, with the numbers of read leases. Nobody writes on a new timeline until the leases of the old one have
-- ended: the length of one, kReadLease.
CREATE OR REPLACE FUNCTION enter_timeline() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_sequence regclass;
BEGIN
  INSERT INTO timelines (timeline) SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN false; END IF;
  -- A standby may lack the rows of leases that the old primary had stored. Other servers wait for this row meanwhile.
  PERFORM pg_sleep(1);
  DELETE FROM read_leases;
  FOREACH v_sequence IN ARRAY ARRAY['node_nids', 'staging_tokens', 'writer_ids', 'event_numbers', 'lifecycle_versions',
                                    'read_lease_numbers',
                                    pg_get_serial_sequence('part_lists', 'part_list_id'),
                                    pg_get_serial_sequence('commit_expiries', 'expiry_id')]::regclass[] LOOP
    PERFORM setval(v_sequence, nextval(v_sequence) + 1000000000);
  END LOOP;
  PERFORM setval('object_version_numbers', nextval('object_version_numbers') - 1000000000);
  -- These are integers.
  FOREACH v_sequence IN ARRAY ARRAY[pg_get_serial_sequence('repositories', 'repo_id'),
                                    pg_get_serial_sequence('branches', 'branch_id'),
                                    pg_get_serial_sequence('users', 'user_id'),
                                    pg_get_serial_sequence('groups', 'group_id'),
                                    pg_get_serial_sequence('policies', 'policy_id'),
                                    pg_get_serial_sequence('webhooks', 'webhook_id'),
                                    pg_get_serial_sequence('quotas', 'quota_id')]::regclass[] LOOP
    PERFORM setval(v_sequence, nextval(v_sequence) + 10000);
  END LOOP;
  UPDATE repositories SET settings_version = settings_version + 1000000;
  RETURN true;
END
$$;
