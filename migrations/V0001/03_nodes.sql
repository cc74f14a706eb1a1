-- Trees of commits, and tables that are derived of them.

CREATE SEQUENCE node_nids CACHE 1;
-- A sequence that was never used shows the same number before and after it is used for the first time; collections
-- compare such numbers.
SELECT nextval('node_nids');

-- One row is a range (level 0) or a metarange (level 1 and above) of the manifest trees. Rows are inserted and deleted,
-- never changed. nid is the address, hash the equality.
CREATE TABLE nodes (
  nid     bigint PRIMARY KEY,
  repo_id integer NOT NULL,
  level   smallint NOT NULL,
  hash    bytea NOT NULL,
  body    bytea NOT NULL
) WITH (toast_tuple_target = 8160, autovacuum_vacuum_insert_scale_factor = 0.2);
-- Bodies are compressed by us and stay below a page: they are kept inline and never compressed again. PostgreSQL 15
-- cannot say so in CREATE TABLE.
ALTER TABLE nodes ALTER COLUMN body SET STORAGE EXTERNAL;
-- Collections read the addresses of nodes by repository.
CREATE INDEX nodes_by_repository ON nodes (repo_id, nid);

-- One row is the part list of a multipart object: immutable, referenced from entries by id.
CREATE TABLE part_lists (
  part_list_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  repo_id      integer NOT NULL,
  body         bytea NOT NULL
);

-- One row is what searches know of a range (core/search/range_summary.h), made by the first search that meets it. Rows
-- are derived: they may be deleted at any time, and go with their node or their repository.
CREATE TABLE range_summaries (
  repo_id integer NOT NULL,
  nid     bigint NOT NULL,
  body    bytea NOT NULL,
  PRIMARY KEY (repo_id, nid)
) WITH (toast_tuple_target = 8160);
-- Bodies are small and not worth compressing, like those of nodes.
ALTER TABLE range_summaries ALTER COLUMN body SET STORAGE EXTERNAL;

-- One row is a range or metarange that clients read as a file (docs/format/sstable.md). Rows and files are derived and
-- may be deleted at any time; rows go with their node or their repository. Several nodes may have one hash, and each has
-- a row of its own.
CREATE TABLE sstables (
  repo_id integer NOT NULL,
  kind    smallint NOT NULL CHECK (kind IN (0, 1)), -- 0 range, 1 metarange
  hash    bytea NOT NULL,                           -- the node's hash, which is the id that clients name
  nid     bigint NOT NULL,
  file    text COLLATE "C",                         -- a name below the repository's namespace; NULL: not written yet
  PRIMARY KEY (repo_id, kind, hash, nid)
);
