-- What a metric file says is kept once for all commits that hold it. New tables, one of them in place of the curves that
-- each commit had of its own: those are read again, since the readers' version was raised, when somebody asks.

-- Rows go with their repository: there are at most as many as its commits have different metric files.
CREATE TABLE metric_files (
  repo_id integer NOT NULL,
  file_id bytea NOT NULL,                           -- of path, object and readers: core/runs/metric_files.cc
  body    bytea NOT NULL,                           -- core/metrics/files/file_reading.cc
  PRIMARY KEY (repo_id, file_id)
);

-- In pieces. body: core/metrics/series.cc.
DROP TABLE series;
CREATE TABLE series (
  repo_id integer NOT NULL,
  file_id bytea NOT NULL,
  name    text COLLATE "C" NOT NULL,
  split   text COLLATE "C" NOT NULL,
  piece   integer NOT NULL,
  body    bytea NOT NULL,
  PRIMARY KEY (repo_id, file_id, name, split, piece)
);

-- Of those that files say: the file whose curve it may be. NULL: no curve was kept.
ALTER TABLE metrics ADD COLUMN file_id bytea;

-- What runs say is looked up by the run, what commits say by the name: a commit may have thousands of runs.
CREATE INDEX metrics_of_runs ON metrics (repo_id, source, name) WHERE origin = 0;
CREATE INDEX metrics_of_commits ON metrics (repo_id, commit_id, name, split) WHERE origin IN (1, 2);
CREATE INDEX params_of_runs ON params (repo_id, source, name) WHERE origin = 0;
CREATE INDEX params_of_commits ON params (repo_id, commit_id, name) WHERE origin IN (1, 2);
