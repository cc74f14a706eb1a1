-- Sizes of repositories over time.

-- One row is the size of a repository's default branch on a day.
CREATE TABLE usage_days (
  repo_id integer NOT NULL,
  day     date NOT NULL,    -- UTC
  objects bigint,           -- NULL: claimed by a server, which is measuring, or has failed to
  bytes   bigint,
  PRIMARY KEY (repo_id, day)
);
