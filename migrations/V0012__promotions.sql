-- Promotions, what was said about them, and the guard of branches that a policy protects. New tables, and a trigger that
-- looks at branches with a policy only.

-- promotion_id falls with time: the newest comes first. request and evidence are JSON that is only read as a whole.
CREATE TABLE promotions (
  repo_id        integer NOT NULL,
  promotion_id   text COLLATE "C" NOT NULL,
  state          text NOT NULL CHECK (state IN ('draft', 'comparing', 'gates_running', 'awaiting_approval', 'merging',
                                                'promoted', 'rejected', 'failed', 'cancelled', 'rolled_back')),
  request        text NOT NULL,
  destination    text COLLATE "C" NOT NULL,
  alias          text COLLATE "C" NOT NULL DEFAULT '',
  policy         text COLLATE "C" NOT NULL DEFAULT '',
  policy_version bigint NOT NULL DEFAULT 0,
  actor          text COLLATE "C" NOT NULL,
  request_key    text COLLATE "C",                  -- given by the client: once per user
  candidates     text NOT NULL DEFAULT '[]',        -- what their refs meant; JSON
  winner_ref     text NOT NULL DEFAULT '',
  winner         bytea,                             -- the candidate's commit
  champion       bytea,                             -- the alias before
  result         bytea,                             -- the commit on the destination
  tag            text NOT NULL DEFAULT '',
  evidence       text NOT NULL DEFAULT '',
  code           text NOT NULL DEFAULT '',          -- why it ended other than promoted
  message        text NOT NULL DEFAULT '',
  undoes         text COLLATE "C",                  -- a rollback: the promotion that it takes back
  undone_by      text COLLATE "C",
  rounds         integer NOT NULL DEFAULT 0,        -- how often the candidates were compared
  tells          text[] NOT NULL DEFAULT '{}',      -- webhooks that the policy wants told of the end
  steps          integer NOT NULL DEFAULT 1,        -- rows of promotion_log
  said           bigint NOT NULL DEFAULT 0,         -- grows with every report of a check and every approval
  created_ms     bigint NOT NULL,
  updated_ms     bigint NOT NULL,
  due_at         timestamptz,                       -- when it is looked at next; NULL once it ended
  lease_owner    bigint,
  lease_until    timestamptz,
  PRIMARY KEY (repo_id, promotion_id)
);
CREATE INDEX promotions_due ON promotions (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX promotions_undoing ON promotions (repo_id, destination, promotion_id) WHERE undoes IS NOT NULL;
CREATE INDEX promotions_by_result ON promotions (repo_id, result) WHERE result IS NOT NULL;
CREATE UNIQUE INDEX promotions_by_key ON promotions (repo_id, actor, request_key) WHERE request_key IS NOT NULL;

-- What happened to a promotion, in order.
CREATE TABLE promotion_log (
  repo_id      integer NOT NULL,
  promotion_id text COLLATE "C" NOT NULL,
  step         integer NOT NULL,
  state        text NOT NULL,
  actor        text NOT NULL,
  code         text NOT NULL,
  message      text NOT NULL,
  at_ms        bigint NOT NULL,
  PRIMARY KEY (repo_id, promotion_id, step),
  FOREIGN KEY (repo_id, promotion_id) REFERENCES promotions ON DELETE CASCADE
);

-- Of one commit each: what is said of another counts for nothing.
CREATE TABLE promotion_checks (
  repo_id      integer NOT NULL,
  promotion_id text COLLATE "C" NOT NULL,
  name         text COLLATE "C" NOT NULL,
  commit_id    bytea NOT NULL,
  status       text NOT NULL CHECK (status IN ('pending', 'success', 'failure')),
  url          text NOT NULL,
  metrics      text[] NOT NULL,                     -- name, value, name, value, ...
  reporter     text NOT NULL,
  at_ms        bigint NOT NULL,
  PRIMARY KEY (repo_id, promotion_id, name, commit_id),
  FOREIGN KEY (repo_id, promotion_id) REFERENCES promotions ON DELETE CASCADE
);
CREATE TABLE promotion_approvals (
  repo_id      integer NOT NULL,
  promotion_id text COLLATE "C" NOT NULL,
  user_id      integer NOT NULL REFERENCES users ON DELETE CASCADE,
  commit_id    bytea NOT NULL,
  reason       text NOT NULL,
  at_ms        bigint NOT NULL,
  PRIMARY KEY (repo_id, promotion_id, user_id),
  FOREIGN KEY (repo_id, promotion_id) REFERENCES promotions ON DELETE CASCADE
);
CREATE INDEX promotion_approvals_by_user ON promotion_approvals (user_id);

-- The last guard of a branch that a policy protects: verbs ask before they begin, this holds for one that began before
-- the policy was set. A promotion says in its own transaction that it is one.
CREATE FUNCTION refuse_gated_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('tarn.promotion', true) IS DISTINCT FROM 'on' THEN
    RAISE EXCEPTION 'the branch changes by promotion only' USING ERRCODE = 'TN010', DETAIL = OLD.gate;
  END IF;
  RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END
$$;
CREATE TRIGGER branches_gated_move BEFORE UPDATE OF head ON branches
  FOR EACH ROW WHEN (OLD.gate IS NOT NULL AND OLD.head IS DISTINCT FROM NEW.head) EXECUTE FUNCTION refuse_gated_change();
CREATE TRIGGER branches_gated_removal BEFORE DELETE ON branches
  FOR EACH ROW WHEN (OLD.gate IS NOT NULL) EXECUTE FUNCTION refuse_gated_change();
