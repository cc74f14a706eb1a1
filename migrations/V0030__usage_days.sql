-- Sizes of default branches by day. A new table only.

CREATE TABLE usage_days (
  repo_id integer NOT NULL,
  day     date NOT NULL,    -- UTC
  objects bigint,           -- NULL: claimed by a server, which is measuring, or has failed to
  bytes   bigint,
  PRIMARY KEY (repo_id, day)
);
