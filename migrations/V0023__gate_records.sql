-- Records that gates need for longer: each report of a check, what an approval was of, where a request came from, when
-- the server stored a commit, and what the refs of a policy meant when it was set. No table is rewritten but the small
-- ones of checks and approvals.

-- Reports are kept: a later one does not replace an earlier one. `supersedes`: why an earlier failure does not stand.
ALTER TABLE promotion_checks ADD COLUMN number integer NOT NULL DEFAULT 1,
  ADD COLUMN supersedes text NOT NULL DEFAULT '';
ALTER TABLE promotion_checks DROP CONSTRAINT promotion_checks_pkey,
  ADD PRIMARY KEY (repo_id, promotion_id, name, commit_id, number);

-- Approvals outlive their users, who stay in the record by name. An approval of before has no digest of values, so it
-- counts for nothing in a promotion that still waits.
ALTER TABLE promotion_approvals ADD COLUMN user_name text COLLATE "C" NOT NULL DEFAULT '',
  ADD COLUMN candidate text NOT NULL DEFAULT '',
  ADD COLUMN judged_values text NOT NULL DEFAULT '',
  ADD COLUMN address text NOT NULL DEFAULT '';
UPDATE promotion_approvals a SET user_name = u.name FROM users u WHERE u.user_id = a.user_id;
ALTER TABLE promotion_approvals ALTER COLUMN user_name DROP DEFAULT;
ALTER TABLE promotion_approvals DROP CONSTRAINT promotion_approvals_user_id_fkey;
DROP INDEX promotion_approvals_by_user;

-- Where the request for the promotion came from: policies may allow by address, and rights are asked for again.
ALTER TABLE promotions ADD COLUMN address text NOT NULL DEFAULT '';

-- When a commit was stored, which clients do not choose. NULL: before this column.
ALTER TABLE commits ADD COLUMN stored_at timestamptz;
ALTER TABLE commits ALTER COLUMN stored_at SET DEFAULT clock_timestamp();

-- The commits that the refs of the document meant when it was set; NULL: it has no such ref, or was set before this column,
-- and its refs mean what they mean when a candidate is judged.
ALTER TABLE gate_policy_versions ADD COLUMN ancestor bytea, ADD COLUMN unchanged_since bytea;

-- Commits that somebody rejected.
CREATE INDEX promotions_rejected ON promotions (repo_id, winner) WHERE state = 'rejected' AND code = 'rejected';
