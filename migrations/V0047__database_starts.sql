-- Starts of the database's server, each with a token and the position that it began with, so that a server of Tarn can tell whether
-- a database has everything that was acknowledged (docs/design/046-lost-writes.md); and the reports of servers that miss something.
-- Two new tables and four functions, and a new version of enter_timeline without other effects. Nothing is locked or rewritten.

-- One row for each start that a server of Tarn wrote in: a restart, a recovery or a promotion. Two databases that have the same rows up to
-- some number are the same up to the position that the next row of either inherited.
CREATE TABLE database_starts (
  number    bigint PRIMARY KEY,
  token     text COLLATE "C" NOT NULL UNIQUE,       -- random: timelines of different histories may have the same number
  start     text COLLATE "C" NOT NULL UNIQUE,       -- current_start() of then
  inherited pg_lsn NOT NULL,                        -- everything before this position is of earlier starts
  since     timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- While a row is not accepted, no server uses this database. A server adds one that finds acknowledged writes missing.
CREATE TABLE lost_writes (
  report      text COLLATE "C" PRIMARY KEY,         -- random
  server      text NOT NULL,                        -- host and process, to be read by people
  missing     text NOT NULL,
  reported_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  accepted_at timestamptz                           -- when an operator said that they are lost
);

-- Recovery after a crash of one process does not restart the postmaster, but replays the log.
CREATE FUNCTION current_start() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT concat_ws(' ', extract(epoch FROM pg_postmaster_start_time()), left(pg_walfile_name(pg_current_wal_insert_lsn()), 8),
                   pg_last_wal_replay_lsn())
$$;

-- A server that was shut down replays nothing; its log then ends with a checkpoint.
CREATE FUNCTION inherited_position() RETURNS pg_lsn LANGUAGE sql STABLE AS $$
  SELECT coalesce(pg_last_wal_replay_lsn(), (SELECT redo_lsn FROM pg_control_checkpoint()))
$$;

-- The token of this start. Its commit waits for no standby, so that reads go on without one: a commit that is acknowledged
-- later is behind it in the log.
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

-- Leaves p_times thousand million numbers out, and so many times ten thousand of those that are integers, 50 times at most.
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

-- The function of V0041, which calls skip_numbers.
CREATE OR REPLACE FUNCTION enter_timeline() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
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
