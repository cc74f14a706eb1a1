-- Long work.

-- One row is a job: it is leased, so that another process goes on when one dies. A job ends in the transaction that makes
-- its result visible, so it may be cancelled until then.
CREATE TABLE jobs (
  job_id      text COLLATE "C" PRIMARY KEY,
  kind        text NOT NULL,
  repo_id     integer NOT NULL,
  branch_id   integer NOT NULL,
  state       text NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
  spec        bytea NOT NULL,
  checkpoint  bytea NOT NULL DEFAULT '',
  progress    bigint NOT NULL DEFAULT 0,
  result      bytea NOT NULL DEFAULT '',
  error       text NOT NULL DEFAULT '',
  owner       text NOT NULL,
  limits      bytea NOT NULL DEFAULT '',             -- of the key that asked for it (credentials.limits)
  lease_owner bigint,
  lease_until timestamptz,
  created_ms  bigint NOT NULL,
  updated_ms  bigint NOT NULL,
  idempotency_key text                              -- a client that repeats a request under it gets the job of the first one
);
CREATE INDEX jobs_open ON jobs (created_ms) WHERE state IN ('queued', 'running');
CREATE UNIQUE INDEX jobs_idempotency ON jobs (kind, branch_id, owner, idempotency_key)
  WHERE idempotency_key IS NOT NULL;

-- One row is a request that its client did not wait for, and what became of it. It is kept for a day after its end.
CREATE TABLE operations (
  operation_id     text COLLATE "C" PRIMARY KEY,
  name             text NOT NULL,
  target           text NOT NULL,
  owner            text COLLATE "C" NOT NULL,
  state            text NOT NULL CHECK (state IN ('running', 'done', 'failed', 'cancelled')),
  cancel_requested boolean NOT NULL DEFAULT false,
  lease_until      timestamptz NOT NULL,
  status           integer NOT NULL DEFAULT 0,
  body             text NOT NULL DEFAULT '',
  created_ms       bigint NOT NULL,
  updated_ms       bigint NOT NULL,
  -- The user to whom the operation belongs, since another user may bear the name later. NULL: the user was gone already.
  owner_id         integer
);
CREATE INDEX operations_by_owner_id ON operations (owner_id, operation_id);
CREATE INDEX operations_ended ON operations (updated_ms) WHERE state <> 'running';
