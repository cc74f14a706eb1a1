-- Claims of stores: each nonce that a server of this database has written to the store of a repository as its owner. A copy of the
-- database that lacks the newest nonce of the store is not the owner (core/branch/store_owner.h). A row is committed before its record
-- is in the store.

CREATE TABLE store_claims (
  claim_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  repo_id    integer NOT NULL REFERENCES repositories (repo_id),
  nonce      text NOT NULL,
  claimed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX store_claims_repository ON store_claims (repo_id, claim_id);
