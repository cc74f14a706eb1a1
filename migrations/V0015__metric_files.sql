-- What a metric file says is kept once for all commits that hold it. New tables, one of them in place of the curves that
-- each commit had of its own: those are read again, since the readers' version was raised, when somebody asks.

-- Rows go with their repository: there are at most as many as its commits have different metric files.
CREATE TABLE metric_files (
  repo_id integer NOT NULL,
  file_id bytea NOT NULL,                           -- of path, object and readers: core/versioning/metric_files.cc
  body    bytea NOT NULL,                           -- core/experiments/file_reading.cc
  PRIMARY KEY (repo_id, file_id)
);

-- In pieces. body: core/experiments/series.cc.
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
