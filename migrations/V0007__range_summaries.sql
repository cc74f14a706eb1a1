-- What searches know of ranges (core/search/range_summary.h), made by the first search that meets a range. Derived:
-- rows may be deleted at any time, and go with their node or their repository. A new table only.

CREATE TABLE range_summaries (
  repo_id integer NOT NULL,
  nid     bigint NOT NULL,
  body    bytea NOT NULL,
  PRIMARY KEY (repo_id, nid)
);
-- As nodes: small, not worth compressing, kept inline.
ALTER TABLE range_summaries ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE range_summaries SET (toast_tuple_target = 8160);
