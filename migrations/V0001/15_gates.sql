-- Gate policies: what a branch demands of a candidate before a promotion takes it in, and the evaluations that they ask for.

-- One row is a policy that holds now, or was removed: a removed one keeps its row for its version.
CREATE TABLE gate_policies (
  repo_id     integer NOT NULL,
  name        text COLLATE "C" NOT NULL,
  version     bigint NOT NULL,                      -- the newest version in gate_policy_versions
  destination text COLLATE "C",                     -- NULL: removed
  alias       text COLLATE "C",                     -- the alias whose commit is the champion; NULL: none
  confirms    boolean NOT NULL DEFAULT false,       -- a change needs a second user (confirm_changes)
  expires_ms  bigint,                               -- how long a champion is a bar; NULL: for ever
  told        bytea,                                -- the champion of which event champion.expired told
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
  groups          text[] NOT NULL DEFAULT '{}',     -- so its groups
  -- The data of the document's evaluations: name, id of the repository, commit in hex, name, id ... The commits of versions
  -- in force are roots of garbage collection.
  data            text[] NOT NULL DEFAULT '{}',
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

-- One row is a measurement: asked for by a judgement, made once. The key is a digest of what is measured, with what, on
-- what data: whoever asks for the same gets the same row.
--
-- A runner holds it by a lease, a random token for a time by the clock of the database. A lease that was not renewed is
-- over: another runner takes the row, with another token, and the calls of the first find no row. A row is measured or
-- failed once; a failed one is queued again only by a user who may set the policy.
CREATE TABLE evaluations (
  key          bytea PRIMARY KEY CHECK (octet_length(key) = 32),
  repo_id      integer NOT NULL,
  policy       text COLLATE "C" NOT NULL,           -- the first that asked
  name         text COLLATE "C" NOT NULL,           -- of the evaluation in that policy
  commit_id    bytea NOT NULL,                      -- the first that had the objects
  definition   bytea NOT NULL CHECK (octet_length(definition) = 32),  -- digest of data and programs
  data_repo    integer NOT NULL,
  data_commit  bytea NOT NULL,
  folder       text COLLATE "C" NOT NULL,           -- the data, with a slash at the end; '' = the whole tree
  inputs       text COLLATE "C" NOT NULL,           -- paths in the folder
  predict      text COLLATE "C" NOT NULL,           -- '' = there is none
  score        text COLLATE "C" NOT NULL,
  reads        text[] NOT NULL,                     -- patterns of the candidate's objects
  digits       integer NOT NULL,                    -- decimals of means that everybody sees
  timeout_ms   bigint NOT NULL,
  memory_bytes bigint NOT NULL,
  labels       text[] NOT NULL,                     -- that a runner must have
  runners      integer[] NOT NULL,                  -- users who may run it; {} = whoever has the permission
  asked_by     text[] NOT NULL,                     -- authors whom it is charged to; {} = nobody
  asked_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
  state        text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'measuring', 'measured', 'failed')),
  token        bytea,                               -- of the lease
  lease_until  timestamptz,
  runner       text COLLATE "C" NOT NULL DEFAULT '',
  runner_id    integer NOT NULL DEFAULT 0,
  lost         integer NOT NULL DEFAULT 0,          -- runners that did not end it
  ended_at     timestamptz,
  phase        text NOT NULL DEFAULT '',            -- why it failed
  code         text NOT NULL DEFAULT '',
  detail       text NOT NULL DEFAULT '',
  examples     bigint NOT NULL DEFAULT 0,
  seed         bigint NOT NULL DEFAULT 0,           -- of tests of significance, chosen when it was measured
  CHECK ((state = 'measuring') = (token IS NOT NULL) AND (token IS NULL) = (lease_until IS NULL))
);
CREATE INDEX evaluations_by_repository ON evaluations (repo_id, asked_at);
CREATE INDEX evaluations_open ON evaluations (repo_id, asked_at) WHERE state IN ('queued', 'measuring');
CREATE INDEX evaluations_asked ON evaluations USING gin (asked_by);
CREATE TRIGGER evaluations_in_repository BEFORE INSERT ON evaluations FOR EACH ROW EXECUTE FUNCTION require_repository();

-- One row is the set of examples of a definition, those of its first result. Later results must have the same.
CREATE TABLE evaluation_examples (
  repo_id    integer NOT NULL,
  definition bytea NOT NULL,
  digest     bytea NOT NULL,                        -- SHA-256 of ids with their slices
  ids        bytea NOT NULL,                        -- in order; each a varint of its length, then its bytes
  PRIMARY KEY (repo_id, definition)
);

-- One row has the values of one metric, of all examples or of those of one slice.
CREATE TABLE evaluation_values (
  repo_id integer NOT NULL,
  key     bytea NOT NULL REFERENCES evaluations ON DELETE CASCADE,
  metric  text COLLATE "C" NOT NULL,
  slice   text COLLATE "C" NOT NULL,                -- '' = all examples
  mean    double precision NOT NULL,
  n       bigint NOT NULL,
  numbers bytea NOT NULL,                           -- big-endian doubles in the order of the ids
  PRIMARY KEY (key, metric, slice)
);
