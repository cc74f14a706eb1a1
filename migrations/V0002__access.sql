-- Who may do what: groups, policies, and what ties them to users. New tables, and columns with constant defaults.

ALTER TABLE users ADD COLUMN friendly_name text NOT NULL DEFAULT '', ADD COLUMN email text NOT NULL DEFAULT '';
CREATE INDEX credentials_by_user ON credentials (user_id, access_key_id);

CREATE TABLE groups (
  group_id    integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name        text COLLATE "C" NOT NULL UNIQUE,
  description text NOT NULL,
  created_ms  bigint NOT NULL
);
CREATE TABLE group_members (
  group_id integer NOT NULL REFERENCES groups ON DELETE CASCADE,
  user_id  integer NOT NULL REFERENCES users ON DELETE CASCADE,
  PRIMARY KEY (user_id, group_id)
);
CREATE INDEX group_members_by_group ON group_members (group_id, user_id);

-- body: the statements, encoded by core/auth/policy.cc.
CREATE TABLE policies (
  policy_id  integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text COLLATE "C" NOT NULL UNIQUE,
  body       bytea NOT NULL,
  created_ms bigint NOT NULL
);
CREATE TABLE user_policies (
  user_id   integer NOT NULL REFERENCES users ON DELETE CASCADE,
  policy_id integer NOT NULL REFERENCES policies ON DELETE CASCADE,
  PRIMARY KEY (user_id, policy_id)
);
CREATE INDEX user_policies_by_policy ON user_policies (policy_id);
CREATE TABLE group_policies (
  group_id  integer NOT NULL REFERENCES groups ON DELETE CASCADE,
  policy_id integer NOT NULL REFERENCES policies ON DELETE CASCADE,
  PRIMARY KEY (group_id, policy_id)
);
CREATE INDEX group_policies_by_policy ON group_policies (policy_id);

-- Identities of other systems that stand for a user here.
CREATE TABLE external_principals (
  principal_id text COLLATE "C" PRIMARY KEY,
  user_id      integer NOT NULL REFERENCES users ON DELETE CASCADE,
  settings     bytea NOT NULL                     -- encoded by core/auth/external_principals.cc
);
CREATE INDEX external_principals_by_user ON external_principals (user_id, principal_id);
