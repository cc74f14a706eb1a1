-- Users, and who may do what.

-- One row is a user.
CREATE TABLE users (
  user_id       integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name          text COLLATE "C" NOT NULL UNIQUE,
  created_ms    bigint NOT NULL,
  friendly_name text NOT NULL DEFAULT '',
  email         text NOT NULL DEFAULT '',
  -- The user has logged out since: logins that began at this instant or before are over.
  sessions_valid_from_ms bigint NOT NULL DEFAULT 0
);

-- One row is a pair of keys. The secret is sealed with the installation's key: SigV4 needs the plain text back.
CREATE TABLE credentials (
  access_key_id text COLLATE "C" PRIMARY KEY,
  user_id       integer NOT NULL REFERENCES users ON DELETE CASCADE,
  secret        bytea NOT NULL,
  created_ms    bigint NOT NULL,
  expires_at    timestamptz,                        -- NULL: the key has no end
  limits        bytea NOT NULL DEFAULT ''           -- statements, encoded as those of a policy; '': what its user may
);
CREATE INDEX credentials_by_user ON credentials (user_id, access_key_id);

-- One row is an open invitation: a link with which a user makes themselves an access key, once. A user has one at most. The
-- link's token is not stored. An invitation ends with the user who made it, whose rights it uses.
CREATE TABLE invitations (
  user_id      integer PRIMARY KEY REFERENCES users ON DELETE CASCADE,
  token_digest bytea NOT NULL UNIQUE,               -- SHA-256 of the token
  made_by      integer NOT NULL REFERENCES users ON DELETE CASCADE,
  made_from    text NOT NULL,                       -- the address of the request, on which the rights of its maker may depend
  expires_at   timestamptz NOT NULL
);
CREATE INDEX invitations_by_maker ON invitations (made_by);

-- One row is a group of users.
CREATE TABLE groups (
  group_id    integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name        text COLLATE "C" NOT NULL UNIQUE,
  description text NOT NULL,
  created_ms  bigint NOT NULL
);

-- One row makes a user a member of a group.
CREATE TABLE group_members (
  group_id integer NOT NULL REFERENCES groups ON DELETE CASCADE,
  user_id  integer NOT NULL REFERENCES users ON DELETE CASCADE,
  PRIMARY KEY (user_id, group_id)
);
CREATE INDEX group_members_by_group ON group_members (group_id, user_id);

-- One row is a policy; core/auth/policy.cc encodes its statements in body.
CREATE TABLE policies (
  policy_id  integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text COLLATE "C" NOT NULL UNIQUE,
  body       bytea NOT NULL,
  created_ms bigint NOT NULL
);

-- One row attaches a policy to a user.
CREATE TABLE user_policies (
  user_id   integer NOT NULL REFERENCES users ON DELETE CASCADE,
  policy_id integer NOT NULL REFERENCES policies ON DELETE CASCADE,
  PRIMARY KEY (user_id, policy_id)
);
CREATE INDEX user_policies_by_policy ON user_policies (policy_id);

-- One row attaches a policy to a group.
CREATE TABLE group_policies (
  group_id  integer NOT NULL REFERENCES groups ON DELETE CASCADE,
  policy_id integer NOT NULL REFERENCES policies ON DELETE CASCADE,
  PRIMARY KEY (group_id, policy_id)
);
CREATE INDEX group_policies_by_policy ON group_policies (policy_id);

-- One row is an identity of another system that stands for a user here; core/auth/external_principals.cc encodes settings.
CREATE TABLE external_principals (
  principal_id text COLLATE "C" PRIMARY KEY,
  user_id      integer NOT NULL REFERENCES users ON DELETE CASCADE,
  settings     bytea NOT NULL
);
CREATE INDEX external_principals_by_user ON external_principals (user_id, principal_id);
