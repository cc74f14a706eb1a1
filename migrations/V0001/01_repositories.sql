-- Installation and repositories.
--
-- Every function of this schema that locks needs read committed isolation, and takes an advisory lock in a statement before
-- the one that reads what the lock protects, which therefore sees the state after the wait. migrations/README.md lists the
-- classes of advisory locks and the order in which transactions take locks.

-- One row is a fact of this installation; a secret value is sealed with the master key.
CREATE TABLE settings (
  key   text COLLATE "C" PRIMARY KEY,
  value bytea NOT NULL
);

-- One row is a repository, also a deleted one: its namespace is never used again, and its id is never reused.
CREATE TABLE repositories (
  repo_id           integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name              text COLLATE "C" NOT NULL,
  storage_namespace text COLLATE "C" NOT NULL,
  default_branch    text COLLATE "C" NOT NULL,
  salt              bigint NOT NULL,
  read_only         boolean NOT NULL DEFAULT false,
  strict_paths      boolean NOT NULL DEFAULT false, -- true: REST stores plain paths only (is_plain_path in core/model/names.h)
  created_ms        bigint NOT NULL,
  metadata          text[] NOT NULL DEFAULT '{}',   -- key, value, key, value, ...
  deleted_ms        bigint,
  -- The number grows with every change of the repository's settings. A writer compares it with the version of the rules
  -- that permitted the write.
  settings_version  bigint NOT NULL DEFAULT 0,
  -- DeleteBucket of S3 removes only repositories that CreateBucket made. The bare name of a rooted one stands for its
  -- default branch.
  bucket_kind       text COLLATE "C" NOT NULL DEFAULT 'none' CHECK (bucket_kind IN ('none', 'repository', 'rooted')),
  -- This tells whether writes to branches are kept as versions; it is one of the settings that settings_version counts.
  versioning        text COLLATE "C" NOT NULL DEFAULT 'off' CHECK (versioning IN ('off', 'enabled', 'suspended')),
  purge_ms          bigint,                         -- NULL: a deleted one is purged after the time that servers have set
  purged            boolean NOT NULL DEFAULT false  -- true: the rows are gone, and the repository cannot be restored
);
CREATE UNIQUE INDEX repositories_by_name ON repositories (name) WHERE deleted_ms IS NULL;
CREATE UNIQUE INDEX repositories_by_namespace ON repositories (storage_namespace);
CREATE INDEX repositories_deleted ON repositories (repo_id) WHERE deleted_ms IS NOT NULL AND NOT purged;

-- One row permits the reader to hold addresses of the owner's objects: collection in the owner asks the readers too.
CREATE TABLE repository_readers (
  owner_id  integer NOT NULL,
  reader_id integer NOT NULL,
  PRIMARY KEY (owner_id, reader_id)
);

-- One row is the settings of one kind (core/meta/repository_settings.h lists the kinds); core/model encodes the body.
CREATE TABLE repository_settings (
  repo_id integer NOT NULL,
  kind    text COLLATE "C" NOT NULL,
  body    bytea NOT NULL,
  due_at  timestamptz,                              -- kind branch_cleanup: when the rules are applied next; NULL: at once
  PRIMARY KEY (repo_id, kind)
);
CREATE INDEX repository_settings_cleanup ON repository_settings (due_at) WHERE kind = 'branch_cleanup';

-- Guarantees that the repository is neither deleted nor changed in its settings until the transaction ends, and returns
-- the settings version. Locks the repository's row FOR SHARE, the first lock of every order: deletion and settings change
-- no column of a key, so FOR KEY SHARE would let both pass. Raises TN404 if the repository is deleted or unknown; core/db
-- makes it not_found. Called by the other functions of the protocol, the trigger function below, meta::Repositories,
-- meta::Staging and meta::ObjectVersions.
CREATE FUNCTION hold_repository(p_repo integer) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  v_version bigint;
BEGIN
  SELECT settings_version INTO v_version FROM repositories WHERE repo_id = p_repo AND deleted_ms IS NULL FOR SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'repository not found' USING ERRCODE = 'TN404';  -- core/db makes it not_found
  END IF;
  RETURN v_version;
END
$$;

-- Guarantees that no row which names a repository is made once it is deleted: such a row would stay for ever. Locks as
-- hold_repository does and raises TN404. Called by the triggers *_in_repository.
CREATE FUNCTION require_repository() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM hold_repository(NEW.repo_id);
  RETURN NEW;
END
$$;
