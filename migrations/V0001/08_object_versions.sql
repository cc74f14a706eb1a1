-- Versions of objects, for repositories that keep every write (S3 bucket versioning).

-- One row is a version of a key of a branch, written in the transaction that stages it. The branch's tree and its staged
-- rows say what the branch shows; this table says what it showed. A newer version has a smaller number: the index has the
-- newest first.
CREATE SEQUENCE object_version_numbers INCREMENT BY -1;
CREATE TABLE object_versions (
  branch_id  integer NOT NULL,
  key        bytea NOT NULL,
  number     bigint NOT NULL,
  version    bytea NOT NULL UNIQUE,    -- 16 random bytes, the version id that clients see
  is_null    boolean NOT NULL,         -- clients see "null" instead: it was there without a write that made a version
  kind       smallint NOT NULL,        -- 0 = the entry in val, 1 = deleted
  val        bytea NOT NULL,
  created_ms bigint NOT NULL,
  makers     text[] NOT NULL,          -- users whose work the version is; empty: its commit tells
  PRIMARY KEY (branch_id, key, number)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.1);

-- Guarantees that nobody else adds or removes versions of a key until the transaction ends. Takes advisory lock class 4,
-- whose id is a hash of branch and key, behind the staging row of the key and the quotas; only candidates of collections
-- and quota_metadata are locked after it. Called by the two functions below.
CREATE FUNCTION lock_object_versions(p_branch integer, p_key bytea) RETURNS void LANGUAGE sql VOLATILE AS $$
  SELECT pg_advisory_xact_lock(4, hashtext(p_branch || '/' || encode(p_key, 'hex')))
$$;

-- Adds a version in the transaction that stages the entry, and before it what the branch showed until now when no version
-- is that (p_base; NULL: nothing to add). p_newest is the number of the version that was the newest when the caller looked
-- (NULL: there was none); returns false when another one is by now, and nothing was done. Locks class 4. Raises nothing of
-- its own. Called by meta::ObjectVersions.
CREATE FUNCTION record_object_version(p_branch integer, p_key bytea, p_newest bigint, p_base bytea,
                                      p_base_version bytea, p_base_ms bigint,
                                      p_version bytea, p_kind smallint, p_val bytea, p_created_ms bigint, p_makers text[])
RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  PERFORM lock_object_versions(p_branch, p_key);
  IF (SELECT min(number) FROM object_versions WHERE branch_id = p_branch AND key = p_key) IS DISTINCT FROM p_newest THEN
    RETURN false;
  END IF;
  IF p_base IS NOT NULL THEN
    -- "null" names the newest of those that are called so; the others keep an id of their own.
    UPDATE object_versions SET is_null = false WHERE branch_id = p_branch AND key = p_key AND is_null;
    INSERT INTO object_versions (branch_id, key, number, version, is_null, kind, val, created_ms, makers)
    VALUES (p_branch, p_key, nextval('object_version_numbers'), p_base_version, true, 0, p_base, p_base_ms, '{}');
  END IF;
  INSERT INTO object_versions (branch_id, key, number, version, is_null, kind, val, created_ms, makers)
  VALUES (p_branch, p_key, nextval('object_version_numbers'), p_version, false, p_kind, p_val, p_created_ms, p_makers);
  RETURN true;
END
$$;

-- Removes one version. p_newest and p_prior are the numbers of the newest and the next newest version when the caller
-- looked (NULL: there was none); returns false when they are others by now, and nothing was done. Locks class 4. Called by
-- meta::ObjectVersions.
CREATE FUNCTION remove_object_version(p_branch integer, p_key bytea, p_number bigint, p_newest bigint, p_prior bigint)
RETURNS boolean LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_first bigint[];
BEGIN
  PERFORM lock_object_versions(p_branch, p_key);
  v_first := ARRAY(SELECT number FROM object_versions WHERE branch_id = p_branch AND key = p_key
                   ORDER BY number LIMIT 2);
  IF v_first[1] IS DISTINCT FROM p_newest OR v_first[2] IS DISTINCT FROM p_prior THEN RETURN false; END IF;
  DELETE FROM object_versions WHERE branch_id = p_branch AND key = p_key AND number = p_number;
  RETURN true;
END
$$;
