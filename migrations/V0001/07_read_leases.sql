-- Read leases: a server that holds one answers reads of a branch from memory (core/meta/read_leases.h).
--
-- While a branch has a row in read_leases, nothing that a read of it returns can change: the functions and triggers of
-- this schema raise TN455. The writer then marks the rows as revoked and waits until the holders have deleted them, or for
-- the length of a lease; then it deletes them and starts again.

CREATE SEQUENCE read_lease_numbers;

-- One row is a lease of a branch.
CREATE TABLE read_leases (
  branch_id integer NOT NULL,
  holder    bigint NOT NULL,                        -- a server process, by a number of its own
  number    bigint NOT NULL,                        -- no later lease has it
  repo_id   integer NOT NULL,
  revoked   boolean NOT NULL DEFAULT false,
  PRIMARY KEY (branch_id, holder)
);

-- One row is a branch of which a write has ended leases: none is taken for a moment, since of many readers one would
-- always be between the end of the leases and the write. No correctness depends on this clock.
CREATE TABLE read_lease_refusals (
  branch_id integer PRIMARY KEY,
  until     timestamptz NOT NULL
);

-- Raises TN455 for a change beside read leases. db::Pool parses the message, repository and branch (0: all branches of the
-- repository), ends the leases and repeats the statement or transaction. Called by the staging functions and
-- refuse_leased_change.
CREATE FUNCTION raise_read_leased(p_repo integer, p_branch integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'read leases: %/%', p_repo, p_branch USING ERRCODE = 'TN455';
END
$$;

-- Refuses a change of what reads return while a lease stands (TN455). Taking a lease locks the rows of repository and
-- branch FOR SHARE, so that this trigger of a concurrent change either runs before, and the lease is not taken, or waits
-- for the row and then sees the lease.
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

-- A verb that takes the write lease ends read leases then, and none is taken while it lasts.
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

-- Takes a lease that permits p_holder to read a branch from memory, and returns no row if there is no such branch, it is
-- being written, or a lease of it is being ended. Guarantees that whatever was staged or changed before is visible to the
-- caller's next statement, in which it reads the branch, and that everything that stages waits for the end of this
-- transaction and then finds the lease. Locks the repository's row (FOR SHARE), the staging area (class 1, exclusive) and
-- the branch's row (FOR SHARE), and waits for none of them. Called by meta::ReadLeases.
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
