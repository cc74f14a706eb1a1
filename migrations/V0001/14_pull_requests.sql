-- Pull requests and their approvals.

-- One row is a pull request. pull_id falls with time: the newest comes first.
CREATE TABLE pull_requests (
  repo_id       integer NOT NULL,
  pull_id       text COLLATE "C" NOT NULL,
  title         text NOT NULL,
  description   text NOT NULL,
  status        text NOT NULL CHECK (status IN ('open', 'closed', 'merged')),
  author        text COLLATE "C" NOT NULL,
  source        text COLLATE "C" NOT NULL,          -- a branch by name: it may be deleted and made again
  destination   text COLLATE "C" NOT NULL,          -- a branch by name
  created_ms    bigint NOT NULL,
  closed_ms     bigint,                             -- when it was closed or merged
  merged_commit bytea,
  PRIMARY KEY (repo_id, pull_id)
);
CREATE INDEX pull_requests_open ON pull_requests (repo_id, pull_id) WHERE status = 'open';
CREATE TRIGGER pulls_in_repository BEFORE INSERT ON pull_requests FOR EACH ROW EXECUTE FUNCTION require_repository();

-- One row is an approval of a commit, not of a branch: it means nothing once the source's head is another. It goes with
-- its user.
CREATE TABLE pull_approvals (
  repo_id    integer NOT NULL,
  pull_id    text COLLATE "C" NOT NULL,
  user_id    integer NOT NULL REFERENCES users ON DELETE CASCADE,
  commit_id  bytea NOT NULL,
  created_ms bigint NOT NULL,
  PRIMARY KEY (repo_id, pull_id, user_id),
  FOREIGN KEY (repo_id, pull_id) REFERENCES pull_requests ON DELETE CASCADE
);
CREATE INDEX pull_approvals_by_user ON pull_approvals (user_id);
