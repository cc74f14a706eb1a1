-- Settings of repositories (rules for branches, tags and collection) and branches that expire. A new table, and columns
-- that are empty or constant at first, so nothing is rewritten.

-- Grows with every change of the repository's settings; 0: none was ever made. Who writes to a branch compares it with
-- the version of the rules it obeyed.
ALTER TABLE repositories ADD COLUMN settings_version bigint NOT NULL DEFAULT 0;

-- body: encoded by core/model (branch_rule.cc, tag_rule.cc, collection_rules.cc).
CREATE TABLE repository_settings (
  repo_id integer NOT NULL,
  kind    text COLLATE "C" NOT NULL CHECK (kind IN ('branch_rules', 'tag_rules', 'collection_rules')),
  body    bytea NOT NULL,
  PRIMARY KEY (repo_id, kind)
);

-- expiry_claimed_until: a server is deleting the branch, or one found that it may not be deleted yet.
ALTER TABLE branches ADD COLUMN expires_ms bigint, ADD COLUMN expiry_claimed_until timestamptz;
CREATE INDEX branches_by_expiry ON branches (expires_ms) WHERE expires_ms IS NOT NULL;
