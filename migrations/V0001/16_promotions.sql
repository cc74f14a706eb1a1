-- Promotions, their checks and their approvals.

-- One row is a promotion. promotion_id falls with time: the newest comes first. request and evidence are JSON that is only
-- read as a whole.
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
  candidates     text NOT NULL DEFAULT '[]',        -- the commits that their refs meant; JSON
  winner_ref     text NOT NULL DEFAULT '',
  winner         bytea,                             -- the candidate's commit
  champion       bytea,                             -- the alias before
  result         bytea,                             -- the commit on the destination
  tag            text NOT NULL DEFAULT '',
  evidence       text NOT NULL DEFAULT '',
  review         text NOT NULL DEFAULT '',          -- what approvals consent to; JSON
  code           text NOT NULL DEFAULT '',          -- why it ended other than promoted, or waits
  message        text NOT NULL DEFAULT '',
  undoes         text COLLATE "C",                  -- a rollback: the promotion that it takes back
  undone_by      text COLLATE "C",
  rounds         integer NOT NULL DEFAULT 0,        -- how often the candidates were compared again
  tells          text[] NOT NULL DEFAULT '{}',      -- webhooks that the policy notifies of the end
  steps          integer NOT NULL DEFAULT 1,        -- rows of promotion_log
  reports        bigint NOT NULL DEFAULT 0,         -- grows with every report, approval and wake-up
  created_ms     bigint NOT NULL,
  updated_ms     bigint NOT NULL,
  due_at         timestamptz,                       -- when it is looked at next; NULL once it ended
  lease_owner    bigint,
  lease_until    timestamptz,
  address        text NOT NULL DEFAULT '',          -- where the request came from: policies may allow by address
  limits         bytea NOT NULL DEFAULT '',         -- of the key that asked for it (credentials.limits)
  moved          bigint NOT NULL DEFAULT 0,         -- grows with every move of a candidate
  -- The commits that the request, the candidates and the evidence name: roots of garbage collection.
  commits        bytea[] NOT NULL DEFAULT '{}',
  PRIMARY KEY (repo_id, promotion_id)
);
CREATE INDEX promotions_due ON promotions (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX promotions_open ON promotions (repo_id) WHERE due_at IS NOT NULL;
CREATE INDEX promotions_undoing ON promotions (repo_id, destination, promotion_id) WHERE undoes IS NOT NULL;
CREATE INDEX promotions_by_result ON promotions (repo_id, result) WHERE result IS NOT NULL;
CREATE INDEX promotions_latest ON promotions (repo_id, destination, updated_ms) WHERE result IS NOT NULL;
CREATE UNIQUE INDEX promotions_by_key ON promotions (repo_id, actor, request_key) WHERE request_key IS NOT NULL;
-- The index finds commits that somebody rejected.
CREATE INDEX promotions_rejected ON promotions (repo_id, winner) WHERE state = 'rejected' AND code = 'rejected';
-- The index finds earlier tries of a candidate.
CREATE INDEX promotions_ended ON promotions (repo_id, destination, promotion_id)
  WHERE undoes IS NULL AND state IN ('rejected', 'failed', 'cancelled');
CREATE TRIGGER promotions_in_repository BEFORE INSERT ON promotions FOR EACH ROW EXECUTE FUNCTION require_repository();

-- One row is a step of a promotion, in order.
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

-- One row is a report of a check about one commit, which counts in every promotion of the commit to the branch. A failure
-- counts for every commit with the same required objects too. A later report does not replace an earlier one.
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
  number       integer NOT NULL,                    -- from 1 on
  supersedes   text NOT NULL,                       -- why an earlier failure does not stand; '' = there was none
  objects      text NOT NULL,                       -- digest of the required objects of the commit; '' = none
  PRIMARY KEY (repo_id, promotion_id, name, commit_id, number),
  FOREIGN KEY (repo_id, promotion_id) REFERENCES promotions ON DELETE CASCADE
);

CREATE INDEX promotion_checks_by_commit ON promotion_checks (repo_id, commit_id);
CREATE INDEX promotion_checks_by_objects ON promotion_checks (repo_id, objects) WHERE objects <> '';

-- One row is a review that approvers of a promotion were shown, by its SHA-256. Rows are added when a judgement changes the
-- review, so that a refusal can say what changed since an older one.
CREATE TABLE promotion_reviews (
  repo_id      integer NOT NULL,
  promotion_id text COLLATE "C" NOT NULL,
  digest       bytea NOT NULL,
  document     text NOT NULL,
  PRIMARY KEY (repo_id, promotion_id, digest),
  FOREIGN KEY (repo_id, promotion_id) REFERENCES promotions ON DELETE CASCADE
);

-- One row is an approval of one review. It outlives its user, who stays in the record by name.
CREATE TABLE promotion_approvals (
  repo_id       integer NOT NULL,
  promotion_id  text COLLATE "C" NOT NULL,
  user_id       integer NOT NULL,
  commit_id     bytea NOT NULL,
  reason        text NOT NULL,
  at_ms         bigint NOT NULL,
  user_name     text COLLATE "C" NOT NULL,
  candidate     text NOT NULL,
  review        bytea NOT NULL,                     -- digest of the review that was approved
  address       text NOT NULL,                      -- where the request came from
  PRIMARY KEY (repo_id, promotion_id, user_id),
  FOREIGN KEY (repo_id, promotion_id, review) REFERENCES promotion_reviews ON DELETE CASCADE
);

-- One row is an alias that the winner of a promotion has, or had, on its way: one row for each stage of the policy that it
-- entered. `before` is what the alias meant then, and means again when the promotion ends without success or is taken back.
-- The row of the last stage, whose alias is the champion's, is made by the transaction that promotes. It has an end
-- (until_ms): a check that fails before then takes the promotion back.
CREATE TABLE promotion_stages (
  repo_id      integer NOT NULL,
  promotion_id text COLLATE "C" NOT NULL,
  number       integer NOT NULL,                    -- from 1 on, in the order of entry
  alias        text COLLATE "C" NOT NULL,
  ref          text NOT NULL,                       -- the candidate
  commit_id    bytea NOT NULL,                      -- where the alias is
  before       bytea,                               -- where it was; NULL = it was not there
  approved_by  text[] NOT NULL DEFAULT '{}',        -- users whose approvals of the stage counted
  checks       text[] NOT NULL DEFAULT '{}',        -- checks that must not fail while it has the alias
  entered_ms   bigint NOT NULL,
  until_ms     bigint,                              -- of the last stage
  left_ms      bigint,                              -- NULL: the promotion is open, or the row is of the last stage
  outcome      text CHECK (outcome IN ('promoted', 'taken_back')),
  rollback     text COLLATE "C",                    -- the rollback that a failed check began
  PRIMARY KEY (repo_id, promotion_id, number),
  FOREIGN KEY (repo_id, promotion_id) REFERENCES promotions ON DELETE CASCADE,
  CHECK ((left_ms IS NULL) = (outcome IS NULL))
);
-- One promotion at a time has an alias.
CREATE UNIQUE INDEX promotion_stages_open ON promotion_stages (repo_id, alias) WHERE left_ms IS NULL AND until_ms IS NULL;

-- Moves the aliases of a promotion's stages back to where they were, the last entered first; the rollback itself moves the
-- alias of the last stage. An alias that has moved on stays. p_by is the promotion or rollback that alias_history names.
CREATE FUNCTION take_back_stages(
  p_repo integer, p_promotion text, p_by text, p_actor text, p_reason text, p_at_ms bigint)
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  s promotion_stages%ROWTYPE;
BEGIN
  FOR s IN SELECT * FROM promotion_stages
           WHERE repo_id = p_repo AND promotion_id = p_promotion AND until_ms IS NULL AND outcome IS DISTINCT FROM 'taken_back'
           ORDER BY number DESC FOR UPDATE LOOP
    IF move_alias(p_repo, s.alias, false, s.commit_id, s.before, p_actor, p_reason, p_by, NULL, p_at_ms) = 1 THEN
      PERFORM move_alias(p_repo, s.alias, false, s.commit_id, NULL, p_actor, p_reason, p_by, NULL, p_at_ms);
    END IF;
    UPDATE promotion_stages SET left_ms = p_at_ms, outcome = 'taken_back'
    WHERE repo_id = p_repo AND promotion_id = p_promotion AND number = s.number;
  END LOOP;
  UPDATE promotion_stages SET left_ms = p_at_ms, outcome = 'taken_back'
  WHERE repo_id = p_repo AND promotion_id = p_promotion AND until_ms IS NOT NULL AND left_ms IS NULL;
END
$$;

-- Ends the stages of a promotion with it, whichever statement ends it.
CREATE FUNCTION end_stages() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.state = 'promoted' THEN
    UPDATE promotion_stages SET left_ms = NEW.updated_ms, outcome = 'promoted'
    WHERE repo_id = NEW.repo_id AND promotion_id = NEW.promotion_id AND left_ms IS NULL AND until_ms IS NULL;
  ELSE
    PERFORM take_back_stages(NEW.repo_id, NEW.promotion_id, NEW.promotion_id, NEW.actor,
                             'the promotion is ' || NEW.state || coalesce(': ' || nullif(NEW.code, ''), ''), NEW.updated_ms);
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER promotions_end_stages AFTER UPDATE OF due_at ON promotions
  FOR EACH ROW WHEN (OLD.due_at IS NOT NULL AND NEW.due_at IS NULL) EXECUTE FUNCTION end_stages();

-- One row is a branch whose head moved, or that was deleted, while a promotion of its repository was open. Servers that
-- advance promotions read and delete rows. There is no key and no reference to promotions: a commit waits for no lock here.
CREATE TABLE branch_moves (
  repo_id integer NOT NULL,
  name    text COLLATE "C" NOT NULL
);

-- Makes open promotions of a branch due, by rows of branch_moves.
CREATE FUNCTION note_branch_move() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO branch_moves (repo_id, name)
  SELECT OLD.repo_id, OLD.name
  WHERE EXISTS (SELECT 1 FROM promotions WHERE repo_id = OLD.repo_id AND due_at IS NOT NULL);
  RETURN NULL;
END
$$;
CREATE TRIGGER branches_note_move AFTER UPDATE OF head ON branches
  FOR EACH ROW WHEN (OLD.head IS DISTINCT FROM NEW.head) EXECUTE FUNCTION note_branch_move();
CREATE TRIGGER branches_note_removal AFTER DELETE ON branches
  FOR EACH ROW EXECUTE FUNCTION note_branch_move();
