-- Gate policies: what a branch demands of a candidate before a promotion takes it in.

-- One row is a policy that holds now, or was removed: a removed one keeps its row for its version.
CREATE TABLE gate_policies (
  repo_id     integer NOT NULL,
  name        text COLLATE "C" NOT NULL,
  version     bigint NOT NULL,                      -- the newest version in gate_policy_versions
  destination text COLLATE "C",                     -- NULL: removed
  alias       text COLLATE "C",                     -- the alias whose commit is the champion; NULL: none
  confirms    boolean NOT NULL DEFAULT false,       -- a change needs a second user (confirm_changes)
  PRIMARY KEY (repo_id, name),
  UNIQUE (repo_id, destination),
  UNIQUE (repo_id, alias)
);

-- One row is a version of a policy: the document that was set. Versions are numbered from 1 without gaps; one without a
-- document removed the policy.
CREATE TABLE gate_policy_versions (
  repo_id         integer NOT NULL,
  name            text COLLATE "C" NOT NULL,
  version         bigint NOT NULL,
  destination     text COLLATE "C",
  document        text,
  digest          bytea CHECK (octet_length(digest) = 32),  -- SHA-256 of the document
  author          text COLLATE "C" NOT NULL,
  at_ms           bigint NOT NULL,
  ancestor        bytea,                            -- the commit that this ref of the document meant when it was set;
  unchanged_since bytea,                            -- NULL: the document has no such ref
  -- The users that the document names, each with its id when it was set: name, id, name, id, ... 0: there was no such user.
  users           text[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (repo_id, name, version),
  CHECK ((document IS NULL) = (digest IS NULL) AND (document IS NULL) = (destination IS NULL))
);

-- One row is a change of a policy that waits for a second user, who asks for the same. A later proposal replaces it.
CREATE TABLE gate_policy_proposals (
  repo_id   integer NOT NULL,
  name      text COLLATE "C" NOT NULL,
  base      bigint NOT NULL,                        -- the version that it changes
  document  text,                                   -- NULL: removes the policy
  digest    bytea NOT NULL,                         -- SHA-256 of document, commits and users, as they would be set
  author    text COLLATE "C" NOT NULL,
  author_id integer NOT NULL,                       -- 0: there is no such user
  at_ms     bigint NOT NULL,
  PRIMARY KEY (repo_id, name)
);

-- Keeps the versions that evidence names: rows of gate_policy_versions are deleted with their repository only.
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

-- Guards a branch that a policy protects: verbs ask before they begin, this holds for one that began before the policy was
-- set. A promotion says in its own transaction that it is one (tarn.promotion). Raises TN010 otherwise, which
-- meta::Branches reads.
CREATE FUNCTION refuse_gated_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('tarn.promotion', true) IS DISTINCT FROM 'on' THEN
    RAISE EXCEPTION 'the branch changes by promotion only' USING ERRCODE = 'TN010', DETAIL = OLD.gate;
  END IF;
  RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END
$$;
CREATE TRIGGER branches_gated_move BEFORE UPDATE OF head ON branches
  FOR EACH ROW WHEN (OLD.gate IS NOT NULL AND OLD.head IS DISTINCT FROM NEW.head) EXECUTE FUNCTION refuse_gated_change();
CREATE TRIGGER branches_gated_removal BEFORE DELETE ON branches
  FOR EACH ROW WHEN (OLD.gate IS NOT NULL) EXECUTE FUNCTION refuse_gated_change();
