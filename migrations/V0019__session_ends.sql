-- Logins of a user that began at this instant or before are over: the user has logged out since.
ALTER TABLE users ADD COLUMN sessions_valid_from_ms bigint NOT NULL DEFAULT 0;
