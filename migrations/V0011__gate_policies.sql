-- Gate policies: what a branch demands of a candidate before a promotion takes it in. New tables, and a column that is
-- empty at first, so nothing is rewritten; branches is locked for a moment.

-- What holds now. A removed policy keeps its row, for its version.
CREATE TABLE gate_policies (
  repo_id     integer NOT NULL,
  name        text COLLATE "C" NOT NULL,
  version     bigint NOT NULL,                      -- of the newest row of gate_policy_versions
  destination text COLLATE "C",                     -- NULL: removed
  alias       text COLLATE "C",                     -- whose commit is the champion; NULL: none
  PRIMARY KEY (repo_id, name),
  UNIQUE (repo_id, destination),
  UNIQUE (repo_id, alias)
);

-- Every document that was ever set, numbered from 1 without gaps; a version without a document removed the policy.
CREATE TABLE gate_policy_versions (
  repo_id     integer NOT NULL,
  name        text COLLATE "C" NOT NULL,
  version     bigint NOT NULL,
  destination text COLLATE "C",
  document    text,
  digest      bytea CHECK (octet_length(digest) = 32),  -- SHA-256 of the document
  author      text COLLATE "C" NOT NULL,
  at_ms       bigint NOT NULL,
  PRIMARY KEY (repo_id, name, version),
  CHECK ((document IS NULL) = (digest IS NULL) AND (document IS NULL) = (destination IS NULL))
);

-- Evidence names versions: rows go with their repository only.
CREATE FUNCTION keep_gate_policy_versions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    IF EXISTS (SELECT 1 FROM repositories WHERE repo_id = OLD.repo_id AND deleted_ms IS NOT NULL) THEN
      RETURN OLD;
    END IF;
  END IF;
  RAISE EXCEPTION 'gate_policy_versions is append-only';
END
$$;
CREATE TRIGGER gate_policy_versions_append_only BEFORE UPDATE OR DELETE ON gate_policy_versions
  FOR EACH ROW EXECUTE FUNCTION keep_gate_policy_versions();
CREATE TRIGGER gate_policy_versions_no_truncation BEFORE TRUNCATE ON gate_policy_versions
  FOR EACH STATEMENT EXECUTE FUNCTION keep_gate_policy_versions();

-- The policy that guards the branch: whoever changes a branch has its row at hand.
ALTER TABLE branches ADD COLUMN gate text COLLATE "C";
