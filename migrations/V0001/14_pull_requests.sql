-- Pull requests, their reviewers and their comments.

-- One row is a pull request. pull_id falls with time: the newest comes first.
CREATE TABLE pull_requests (
  repo_id       integer NOT NULL,
  pull_id       text COLLATE "C" NOT NULL,
  number        integer NOT NULL,                   -- counts the pull requests of the repository, from 1
  title         text NOT NULL,
  description   text NOT NULL,
  status        text NOT NULL CHECK (status IN ('open', 'closed', 'merged')),
  author        text COLLATE "C" NOT NULL,
  source        text COLLATE "C" NOT NULL,          -- a branch by name: it may be deleted and made again
  destination   text COLLATE "C" NOT NULL,          -- a branch by name
  created_ms    bigint NOT NULL,
  closed_ms     bigint,                             -- when it was closed or merged
  merged_commit bytea,
  merged_source bytea,                              -- the head of the source that was merged
  comments      integer NOT NULL DEFAULT 0,         -- that were made, deleted ones too: the id of the newest
  PRIMARY KEY (repo_id, pull_id),
  UNIQUE (repo_id, number)
);
CREATE INDEX pull_requests_open ON pull_requests (repo_id, pull_id) WHERE status = 'open';
CREATE TRIGGER pulls_in_repository BEFORE INSERT ON pull_requests FOR EACH ROW EXECUTE FUNCTION require_repository();

-- Numbers a new pull request. No number is used twice, because pull requests are deleted with their repository only. Takes
-- advisory lock class 14 after the repository's row, so that one request of a repository is numbered at a time.
CREATE FUNCTION number_pull_request() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(14, NEW.repo_id);
  NEW.number := (SELECT coalesce(max(number), 0) + 1 FROM pull_requests WHERE repo_id = NEW.repo_id);
  RETURN NEW;
END
$$;
CREATE TRIGGER pulls_number BEFORE INSERT ON pull_requests FOR EACH ROW WHEN (NEW.number IS NULL)
  EXECUTE FUNCTION number_pull_request();

-- One row is a reviewer of a pull request: a user who was asked for a review, who has reviewed it, or both. A verdict is on a
-- commit, not on a branch: an approval means nothing once the source's head is another, and a request for changes stands
-- until the user approves or withdraws it. The row goes with its user.
CREATE TABLE pull_reviewers (
  repo_id     integer NOT NULL,
  pull_id     text COLLATE "C" NOT NULL,
  user_id     integer NOT NULL REFERENCES users ON DELETE CASCADE,
  asked_by    text COLLATE "C",                     -- a user by name; NULL: the review was not asked for
  verdict     text CHECK (verdict IN ('approved', 'changes_requested')),
  commit_id   bytea,
  reviewed_ms bigint,
  PRIMARY KEY (repo_id, pull_id, user_id),
  FOREIGN KEY (repo_id, pull_id) REFERENCES pull_requests ON DELETE CASCADE,
  CHECK (num_nulls(verdict, commit_id, reviewed_ms) IN (0, 3))
);
CREATE INDEX pull_reviewers_by_user ON pull_reviewers (user_id);

-- One row is a comment. A deleted one keeps its row without its text: the answers to it stay. author_id refers to no row, so
-- that a comment outlives its user; ids are not reused, so that a later user of the same name is not its author.
CREATE TABLE pull_comments (
  repo_id     integer NOT NULL,
  pull_id     text COLLATE "C" NOT NULL,
  comment_id  integer NOT NULL,                     -- of the pull request, from 1
  thread_id   integer NOT NULL,                     -- the comment that began the thread
  author_id   integer NOT NULL,
  author      text COLLATE "C" NOT NULL,
  body        text NOT NULL,
  path        text COLLATE "C",                     -- an object of the source; NULL: it is about the whole request
  line        integer,                              -- of a text, from 1
  row_number  integer,                              -- of a table, from 1
  commit_id   bytea,                                -- the source's head at that time; NULL: the branch was gone
  created_ms  bigint NOT NULL,
  edited_ms   bigint,
  deleted     boolean NOT NULL DEFAULT false,
  resolved_by text COLLATE "C",                     -- of the comment that began a thread: a user by name
  PRIMARY KEY (repo_id, pull_id, comment_id),
  FOREIGN KEY (repo_id, pull_id) REFERENCES pull_requests ON DELETE CASCADE
);
