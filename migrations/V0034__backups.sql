-- Backups and what they hold back from garbage collection. New tables, a function, and a new version of enter_timeline.
--
-- A backup refers to objects of the store as its snapshot of the database does. Collections remove none of them while the
-- backup holds: only candidates that were found, and whose fence was passed, before the snapshot was taken. Nothing in the
-- snapshot refers to those, since whatever refers to a candidate again deletes its row (rescue_objects).

CREATE TABLE backups (
  backup_id      text COLLATE "C" PRIMARY KEY,
  target         text NOT NULL,
  state          text NOT NULL CHECK (state IN ('running', 'complete', 'released')),
  copies_objects boolean NOT NULL,
  started_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  held_until     timestamptz,                       -- NULL: holds nothing any more
  newest_repository integer                         -- in the snapshot; NULL: it was not taken yet
);

-- Of each repository the newest collection whose candidates may go while the backup holds.
CREATE TABLE backup_repositories (
  backup_id text COLLATE "C" NOT NULL REFERENCES backups ON DELETE CASCADE,
  repo_id   integer NOT NULL,
  run       bigint NOT NULL,
  PRIMARY KEY (backup_id, repo_id)
);

-- Candidates of later collections than this one stay. A repository may have been created between the hold and the snapshot:
-- then it has no row, and all of its candidates stay.
CREATE FUNCTION held_collection(p_repo integer) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT coalesce(min(coalesce(r.run, CASE WHEN p_repo > b.newest_repository THEN 9223372036854775807 ELSE 0 END)),
                  9223372036854775807)
  FROM backups b LEFT JOIN backup_repositories r ON r.backup_id = b.backup_id AND r.repo_id = p_repo
  WHERE b.held_until > clock_timestamp()
$$;

-- As in V0026, with the numbers of expiries and quotas.
CREATE OR REPLACE FUNCTION enter_timeline() RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_sequence regclass;
BEGIN
  INSERT INTO timelines (timeline) SELECT left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN false; END IF;
  FOREACH v_sequence IN ARRAY ARRAY['node_nids', 'staging_tokens', 'writer_ids', 'event_numbers', 'lifecycle_versions',
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
