-- Timelines of the cluster and starts of its server, so that a server of Tarn can tell whether a database has everything
-- that was acknowledged (docs/design/046-lost-writes.md).

-- One row is a timeline that the cluster has been on.
CREATE TABLE timelines (
  timeline text COLLATE "C" PRIMARY KEY,
  since    timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO timelines (timeline) SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8);

-- One row is a start that a server of Tarn wrote in: a restart, a recovery or a promotion. Two databases that have the same
-- rows up to some number are the same up to the position that the next row of either inherited.
CREATE TABLE database_starts (
  number    bigint PRIMARY KEY,
  token     text COLLATE "C" NOT NULL UNIQUE,       -- random: timelines of different histories may have the same number
  start     text COLLATE "C" NOT NULL UNIQUE,       -- current_start() at that time
  inherited pg_lsn NOT NULL,                        -- everything before this position is of earlier starts
  since     timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- One row is a report of a server that finds acknowledged writes missing. While a row is not accepted, no server uses this
-- database.
CREATE TABLE lost_writes (
  report      text COLLATE "C" PRIMARY KEY,         -- random
  server      text NOT NULL,                        -- host and process, to be read by people
  missing     text NOT NULL,
  reported_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  accepted_at timestamptz                           -- when an operator said that they are lost
);

-- Names the start of the database's server. Recovery after a crash of one process does not restart the postmaster, but
-- replays the log. Called by enter_start and meta::Lineage.
CREATE FUNCTION current_start() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), left(pg_walfile_name(pg_current_wal_insert_lsn()), 8),
                   pg_last_wal_replay_lsn())
$$;

-- Returns the position of the log that the start began with. A server that was shut down replays nothing; its log then
-- ends with a checkpoint. Called by enter_start and meta::Lineage.
CREATE FUNCTION inherited_position() RETURNS pg_lsn LANGUAGE sql STABLE AS $$
  SELECT coalesce(pg_last_wal_replay_lsn(), (SELECT redo_lsn FROM pg_control_checkpoint()))
$$;

-- Gives this start a token, once, and returns it. The commit waits for no standby, so that reads go on without one: a
-- commit that is acknowledged later is behind it in the log. Locks database_starts against other inserts, if the start has
-- no row. Called by meta::Lineage.
CREATE FUNCTION enter_start() RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_token text;
BEGIN
  SELECT token INTO v_token FROM database_starts WHERE start = current_start();
  IF FOUND THEN RETURN v_token; END IF;
  PERFORM set_config('synchronous_commit', 'local', true);
  LOCK TABLE database_starts IN SHARE ROW EXCLUSIVE MODE;
  INSERT INTO database_starts (number, token, start, inherited)
  SELECT coalesce(max(number), 0) + 1, gen_random_uuid(), current_start(), inherited_position() FROM database_starts
  ON CONFLICT (start) DO NOTHING;
  SELECT token INTO v_token FROM database_starts WHERE start = current_start();
  RETURN v_token;
END
$$;

-- Leaves p_times thousand million numbers of every sequence out, and so many times ten thousand of those that are integers,
-- 50 times at most; raises the settings versions likewise. Guarantees that no number which a lost primary may have given
-- out is given out again. A new sequence or identity belongs in its lists. Locks the rows of all repositories and raises
-- TN455 (trigger repositories_leased_change). Called by enter_timeline and meta::Lineage.
CREATE FUNCTION skip_numbers(p_times integer) RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_sequence regclass;
BEGIN
  FOREACH v_sequence IN ARRAY ARRAY['node_nids', 'staging_tokens', 'writer_ids', 'event_numbers', 'lifecycle_versions',
                                    'read_lease_numbers',
                                    pg_get_serial_sequence('part_lists', 'part_list_id'),
                                    pg_get_serial_sequence('store_claims', 'claim_id'),
                                    pg_get_serial_sequence('commit_expiries', 'expiry_id')]::regclass[] LOOP
    PERFORM setval(v_sequence, nextval(v_sequence) + p_times * 1000000000::bigint);
  END LOOP;
  PERFORM setval('object_version_numbers', nextval('object_version_numbers') - p_times * 1000000000::bigint);
  FOREACH v_sequence IN ARRAY ARRAY[pg_get_serial_sequence('repositories', 'repo_id'),
                                    pg_get_serial_sequence('branches', 'branch_id'),
                                    pg_get_serial_sequence('users', 'user_id'),
                                    pg_get_serial_sequence('groups', 'group_id'),
                                    pg_get_serial_sequence('policies', 'policy_id'),
                                    pg_get_serial_sequence('webhooks', 'webhook_id'),
                                    pg_get_serial_sequence('quotas', 'quota_id')]::regclass[] LOOP
    PERFORM setval(v_sequence, nextval(v_sequence) + least(p_times, 50) * 10000);
  END LOOP;
  UPDATE repositories SET settings_version = settings_version + p_times * 1000000::bigint;
END
$$;

-- Enters the cluster's timeline; returns whether this transaction was the first to. A standby that is promoted without all
-- that its primary had committed would hand out numbers again that servers still hold or have cached under them, and may
-- lack rows of read leases that the old primary had stored. So it waits for the length of a read lease (kReadLease), ends
-- all leases, and skips numbers. The row of timelines is the lock: the second server waits for it, and then finds the
-- numbers moved on. Called by meta::Lineage before a server writes.
CREATE FUNCTION enter_timeline() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  INSERT INTO timelines (timeline) SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN false; END IF;
  -- A standby may lack the rows of leases that the old primary had stored. Other servers wait for this row meanwhile.
  PERFORM pg_sleep(1);
  DELETE FROM read_leases;
  PERFORM skip_numbers(1);
  RETURN true;
END
$$;
