-- The timelines that the cluster has been on. A standby that is promoted without all that its primary had committed
-- would hand out numbers again that servers still hold or have cached under them: every number is left out that its
-- primary can have handed out.
CREATE TABLE timelines (
  timeline text COLLATE "C" PRIMARY KEY,
  since    timestamptz NOT NULL DEFAULT clock_timestamp()
);
INSERT INTO timelines (timeline) SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8);

-- Whoever comes second waits for the first, and then finds the numbers moved on.
CREATE FUNCTION enter_timeline() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_sequence regclass;
BEGIN
  INSERT INTO timelines (timeline) SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN false; END IF;
  FOREACH v_sequence IN ARRAY ARRAY['node_nids', 'staging_tokens', 'writer_ids', 'event_numbers',
                                    pg_get_serial_sequence('part_lists', 'part_list_id')]::regclass[] LOOP
    PERFORM setval(v_sequence, nextval(v_sequence) + 1000000000);
  END LOOP;
  -- These are integers.
  FOREACH v_sequence IN ARRAY ARRAY[pg_get_serial_sequence('repositories', 'repo_id'),
                                    pg_get_serial_sequence('branches', 'branch_id'),
                                    pg_get_serial_sequence('users', 'user_id'),
                                    pg_get_serial_sequence('groups', 'group_id'),
                                    pg_get_serial_sequence('policies', 'policy_id'),
                                    pg_get_serial_sequence('webhooks', 'webhook_id')]::regclass[] LOOP
    PERFORM setval(v_sequence, nextval(v_sequence) + 10000);
  END LOOP;
  UPDATE repositories SET settings_version = settings_version + 1000000;
  RETURN true;
END
$$;
