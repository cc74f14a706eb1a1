-- Ranges and metaranges that clients read as files (docs/format/sstable.md). Derived: rows and files may be deleted at any
-- time, and rows go with their node or their repository. A new table only.

CREATE TABLE sstables (
  repo_id integer NOT NULL,
  kind    smallint NOT NULL CHECK (kind IN (0, 1)),  -- 0 range, 1 metarange
  hash    bytea NOT NULL,                            -- of the node; the id that clients name it by
  nid     bigint NOT NULL,
  file    text COLLATE "C",                          -- below the repository's namespace; NULL: not written yet
  PRIMARY KEY (repo_id, kind, hash)
);
