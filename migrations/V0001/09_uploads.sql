-- Uploads that are not complete.

-- One row is a multipart upload or a handed-out physical address: either may still be published, so both count as floors.
CREATE TABLE uploads (
  upload_id  text COLLATE "C" PRIMARY KEY,
  kind       text NOT NULL CHECK (kind IN ('multipart', 'link')),
  repo_id    integer NOT NULL,
  branch_id  integer NOT NULL,
  key        bytea NOT NULL,
  entry      bytea NOT NULL,                        -- attributes of the object to be
  owner      text NOT NULL,
  checksum_algorithm text NOT NULL DEFAULT '',
  checksum_type      text NOT NULL DEFAULT '',
  created_ms bigint NOT NULL,
  expires_at timestamptz NOT NULL,
  -- The object at a handed-out address is counted for quotas when its bytes arrive, and not again when it is linked.
  charged    boolean NOT NULL DEFAULT false
);
CREATE INDEX uploads_by_key ON uploads (branch_id, key, upload_id);

-- One row is a part of a multipart upload: address, size, md5, checksums and time.
CREATE TABLE upload_parts (
  upload_id   text COLLATE "C" NOT NULL REFERENCES uploads ON DELETE CASCADE,
  part_number integer NOT NULL,
  entry       bytea NOT NULL,
  makers      text[] NOT NULL,                      -- users whose work the bytes are
  PRIMARY KEY (upload_id, part_number)
);
