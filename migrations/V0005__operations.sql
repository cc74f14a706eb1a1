-- Requests that clients did not wait for: what became of them. Kept for a day after their end.
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
  updated_ms       bigint NOT NULL
);
CREATE INDEX operations_by_owner ON operations (owner, operation_id);
CREATE INDEX operations_ended ON operations (updated_ms) WHERE state <> 'running';
