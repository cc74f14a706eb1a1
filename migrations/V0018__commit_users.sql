-- The name of the user who made or recorded a commit, whatever committer it shows; no part of its id. A name, since one
-- who is deleted and made anew must not approve what the earlier one made. NULL: made before this column, or by nobody.
-- A transaction that publishes says who it is in tarn.user; added without a default, so that no row is written anew.
ALTER TABLE commits ADD COLUMN made_by text;
ALTER TABLE commits ALTER COLUMN made_by SET DEFAULT nullif(current_setting('tarn.user', true), '');
