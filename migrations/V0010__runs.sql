-- Runs, and what is measured of commits. New tables, a trigger on commits that queues their reading, and one dropped
-- check, so nothing is rewritten and nothing is locked for long.

-- run_id falls with time: the newest comes first. Append-only.
CREATE TABLE runs (
  repo_id         integer NOT NULL,
  run_id          text COLLATE "C" NOT NULL,
  experiment      text COLLATE "C" NOT NULL,
  commit_id       bytea NOT NULL,
  branch          text COLLATE "C" NOT NULL,        -- as it was named then; '' when a commit or tag was named
  artifacts       text[] NOT NULL,
  git_sha         text COLLATE "C" NOT NULL,
  ci_url          text NOT NULL,
  source_user     text NOT NULL,
  owner           text COLLATE "C" NOT NULL,
  created_ms      bigint NOT NULL,
  idempotency_key text COLLATE "C",
  request_hash    bytea NOT NULL,                   -- what was asked, to tell a repeated request from another one
  PRIMARY KEY (repo_id, run_id)
);
CREATE INDEX runs_by_experiment ON runs (repo_id, experiment, run_id);
CREATE INDEX runs_by_branch ON runs (repo_id, branch, run_id);
CREATE INDEX runs_by_commit ON runs (repo_id, commit_id, run_id);
CREATE INDEX runs_by_git_sha ON runs (repo_id, git_sha) WHERE git_sha <> '';
CREATE UNIQUE INDEX runs_idempotency ON runs (repo_id, experiment, owner, idempotency_key)
  WHERE idempotency_key IS NOT NULL;

-- What a commit measured. origin: core/metrics/metric.h. source: the run, the metadata key, the path.
CREATE TABLE metrics (
  repo_id     integer NOT NULL,
  commit_id   bytea NOT NULL,
  name        text COLLATE "C" NOT NULL,
  split       text COLLATE "C" NOT NULL,
  origin      smallint NOT NULL,
  source      text COLLATE "C" NOT NULL,
  value       double precision NOT NULL,
  measured_ms bigint NOT NULL,                      -- of one origin the newest counts
  PRIMARY KEY (repo_id, commit_id, name, split, origin, source)
);

CREATE TABLE params (
  repo_id     integer NOT NULL,
  commit_id   bytea NOT NULL,
  name        text COLLATE "C" NOT NULL,
  origin      smallint NOT NULL,
  source      text COLLATE "C" NOT NULL,
  value       text NOT NULL,
  number      double precision,                     -- of the value, when it is one
  measured_ms bigint NOT NULL,
  PRIMARY KEY (repo_id, commit_id, name, origin, source)
);

-- Curves that files hold, in pieces. body: core/metrics/series.cc.
CREATE TABLE series (
  repo_id   integer NOT NULL,
  commit_id bytea NOT NULL,
  name      text COLLATE "C" NOT NULL,
  split     text COLLATE "C" NOT NULL,
  source    text COLLATE "C" NOT NULL,
  piece     integer NOT NULL,
  body      bytea NOT NULL,
  PRIMARY KEY (repo_id, commit_id, name, split, source, piece)
);

-- What is known of the reading of a commit's metadata and files. 'failed': it is tried again when somebody asks.
CREATE TABLE extractions (
  repo_id     integer NOT NULL,
  commit_id   bytea NOT NULL,
  state       text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'done', 'failed')),
  attempts    integer NOT NULL DEFAULT 0,
  lease_until timestamptz,
  rules_hash  bytea NOT NULL DEFAULT '',            -- of the globs and the readers it was done with
  warnings    text[] NOT NULL DEFAULT '{}',
  queued_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (repo_id, commit_id)
);
CREATE INDEX extractions_queued ON extractions (queued_at) WHERE state = 'queued';

CREATE FUNCTION queue_extractions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO extractions (repo_id, commit_id) SELECT repo_id, commit_id FROM made ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$$;
CREATE TRIGGER commits_queue_extractions AFTER INSERT ON commits
  REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION queue_extractions();

-- As arithmetic has it: what is compared with NaN differs and is nothing else.
CREATE FUNCTION number_satisfies(a double precision, op text, b double precision) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN a = 'NaN' OR b = 'NaN' THEN op = '!='
    ELSE CASE op WHEN '>' THEN a > b WHEN '>=' THEN a >= b WHEN '<' THEN a < b WHEN '<=' THEN a <= b
                 WHEN '=' THEN a = b ELSE a <> b END END
$$;

-- The kinds of settings are what core/meta/repository_settings.h says.
ALTER TABLE repository_settings DROP CONSTRAINT IF EXISTS repository_settings_kind_check;
