-- Runs, and what is measured of commits.

-- One row is a run. A recorded one has ended; one that was started is written until it ends. After that only its labels
-- (name, notes, tags) change. run_id falls with time: the newest comes first.
CREATE TABLE runs (
  repo_id         integer NOT NULL,
  run_id          text COLLATE "C" NOT NULL,
  experiment      text COLLATE "C" NOT NULL,
  commit_id       bytea NOT NULL,                   -- '' unless the run has ended on a commit
  branch          text COLLATE "C" NOT NULL,        -- the name at that time; '' when it is not known
  artifacts       text[] NOT NULL,
  git_sha         text COLLATE "C" NOT NULL,
  ci_url          text NOT NULL,
  source_user     text NOT NULL,
  owner           text COLLATE "C" NOT NULL,
  owner_id        integer NOT NULL DEFAULT 0,       -- of this user, which no later user of the name has; 0: it was not known
  created_ms      bigint NOT NULL,
  idempotency_key text COLLATE "C",
  request_hash    bytea NOT NULL,                   -- tells a repeated request from another one
  objects         text[] NOT NULL DEFAULT '{}',     -- what was measured: SHA-256 in hex, then the path
  name            text COLLATE "C" NOT NULL DEFAULT '',
  notes           text NOT NULL DEFAULT '',
  tags            text[] NOT NULL DEFAULT '{}',     -- in byte order, each once
  state           text NOT NULL DEFAULT 'finished' CHECK (state IN ('running', 'finished', 'failed')),
  seen_at         timestamptz NOT NULL DEFAULT clock_timestamp(), -- the last heartbeat, or the end
  PRIMARY KEY (repo_id, run_id)
);
CREATE INDEX runs_by_experiment ON runs (repo_id, experiment, run_id);
CREATE INDEX runs_by_branch ON runs (repo_id, branch, run_id);
CREATE INDEX runs_by_commit ON runs (repo_id, commit_id, run_id);
CREATE INDEX runs_by_git_sha ON runs (repo_id, git_sha) WHERE git_sha <> '';
CREATE UNIQUE INDEX runs_idempotency ON runs (repo_id, experiment, owner, owner_id, idempotency_key)
  WHERE idempotency_key IS NOT NULL;
CREATE TRIGGER runs_in_repository BEFORE INSERT ON runs FOR EACH ROW EXECUTE FUNCTION require_repository();

-- Returns the state of a run: 'stale' if it is running and has had no heartbeat for five minutes. Called by runs::RunStore.
CREATE FUNCTION run_state(p_state text, p_seen timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT CASE WHEN p_state = 'running' AND p_seen < clock_timestamp() - interval '5 minutes' THEN 'stale' ELSE p_state END
$$;

-- One row is a piece of a curve that a run wrote while it ran; core/metrics/series.cc encodes the body. The rows of a
-- curve never overlap in their steps. What is drawn of a long curve is in the columns.
CREATE TABLE run_points (
  repo_id    integer NOT NULL,
  run_id     text COLLATE "C" NOT NULL,
  name       text COLLATE "C" NOT NULL,
  first_step bigint NOT NULL,
  points     integer NOT NULL,
  last_step  bigint NOT NULL,
  last_value double precision NOT NULL,
  low_step   bigint NOT NULL,                       -- of the lowest value
  low        double precision NOT NULL,
  high_step  bigint NOT NULL,                       -- of the highest value
  high       double precision NOT NULL,
  body       bytea NOT NULL,
  PRIMARY KEY (repo_id, run_id, name, first_step)
);

-- One row is a number that was measured of a commit. core/metrics/metric.h lists the origins; source is the run, the
-- metadata key or the path. commit_id is '' for numbers of runs that have not finished on a commit, which no gate reads.
CREATE TABLE metrics (
  repo_id     integer NOT NULL,
  commit_id   bytea NOT NULL,
  name        text COLLATE "C" NOT NULL,
  split       text COLLATE "C" NOT NULL,
  origin      smallint NOT NULL,
  source      text COLLATE "C" NOT NULL,
  value       double precision NOT NULL,
  measured_ms bigint NOT NULL,                      -- among those of one origin the newest counts
  file_id     bytea,                                -- the file whose curve it may be; NULL: no curve was kept
  PRIMARY KEY (repo_id, commit_id, name, split, origin, source)
);
-- Runs' numbers are looked up by the run, those of commits by the name: a commit may have thousands of runs. Sorting and
-- filtering runs finds the numbers in the index and reads no row.
CREATE INDEX metrics_of_runs ON metrics (repo_id, source, name) INCLUDE (split, value) WHERE origin = 0;
CREATE INDEX metrics_of_commits ON metrics (repo_id, commit_id, name, split) WHERE origin IN (1, 2);
CREATE INDEX metrics_by_file ON metrics (repo_id, file_id) WHERE file_id IS NOT NULL;

-- One row is a parameter of a run or commit; commit_id as in metrics.
CREATE TABLE params (
  repo_id     integer NOT NULL,
  commit_id   bytea NOT NULL,
  name        text COLLATE "C" NOT NULL,
  origin      smallint NOT NULL,
  source      text COLLATE "C" NOT NULL,
  value       text NOT NULL,
  number      double precision,                     -- the value, when it is a number
  measured_ms bigint NOT NULL,
  PRIMARY KEY (repo_id, commit_id, name, origin, source)
);
CREATE INDEX params_of_runs ON params (repo_id, source, name) WHERE origin = 0;
CREATE INDEX params_of_commits ON params (repo_id, commit_id, name) WHERE origin IN (1, 2);

-- One row is what a metric file says, kept once for all commits that hold it. Rows go when no commit's metrics name them
-- any more, or with their repository.
CREATE TABLE metric_files (
  repo_id   integer NOT NULL,
  file_id   bytea NOT NULL,                         -- a hash of path, object and readers: core/runs/metric_files.cc
  body      bytea NOT NULL,                         -- core/metrics/files/file_reading.cc
  stored_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (repo_id, file_id)
);

-- One row is a piece of a curve that a file holds; core/metrics/series.cc encodes the body.
CREATE TABLE series (
  repo_id integer NOT NULL,
  file_id bytea NOT NULL,
  name    text COLLATE "C" NOT NULL,
  split   text COLLATE "C" NOT NULL,
  piece   integer NOT NULL,
  body    bytea NOT NULL,
  PRIMARY KEY (repo_id, file_id, name, split, piece)
);

-- One row is the reading of a commit's metadata and files. A failed one is tried again when somebody asks.
CREATE TABLE extractions (
  repo_id     integer NOT NULL,
  commit_id   bytea NOT NULL,
  state       text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'done', 'failed')),
  attempts    integer NOT NULL DEFAULT 0,
  lease_until timestamptz,
  rules_hash  bytea NOT NULL DEFAULT '',            -- hash of the globs and the readers it was done with
  warnings    text[] NOT NULL DEFAULT '{}',
  queued_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
  owner       text COLLATE "C" NOT NULL DEFAULT '', -- whose commit is read: readers take turns among users; '' = not known
  PRIMARY KEY (repo_id, commit_id)
);
-- The first index finds the oldest of each user, and who has some at all; the second those that are read now, and those
-- whose reader ended.
CREATE INDEX extractions_queued ON extractions (owner, queued_at) WHERE state = 'queued';
CREATE INDEX extractions_leased ON extractions (owner) WHERE state = 'queued' AND lease_until IS NOT NULL;

-- Queues the reading of every new commit in the statement that inserts it, for runs::ExtractionStore.
CREATE FUNCTION queue_extractions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO extractions (repo_id, commit_id, owner)
  SELECT repo_id, commit_id, coalesce(made_by, '') FROM made ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$$;
CREATE TRIGGER commits_queue_extractions AFTER INSERT ON commits
  REFERENCING NEW TABLE AS made FOR EACH STATEMENT EXECUTE FUNCTION queue_extractions();

-- Compares two numbers as arithmetic does: a number that is compared with NaN differs and is nothing else. Called by
-- meta::Runs.
CREATE FUNCTION number_satisfies(a double precision, op text, b double precision) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN a = 'NaN' OR b = 'NaN' THEN op = '!='
    ELSE CASE op WHEN '>' THEN a > b WHEN '>=' THEN a >= b WHEN '<' THEN a < b WHEN '<=' THEN a <= b
                 WHEN '=' THEN a = b ELSE a <> b END END
$$;
