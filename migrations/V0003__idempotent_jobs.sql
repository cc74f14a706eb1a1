-- A client that repeats a request under the same key gets the job of the first one.
ALTER TABLE jobs ADD COLUMN idempotency_key text;
CREATE UNIQUE INDEX jobs_idempotency ON jobs (kind, branch_id, owner, idempotency_key)
  WHERE idempotency_key IS NOT NULL;

-- What the job made is becoming visible: it can no longer be cancelled.
ALTER TABLE jobs ADD COLUMN publishing boolean NOT NULL DEFAULT false;
