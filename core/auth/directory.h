// All account rows: users, groups, policies, credentials, external principals, invitations.
#pragma once

#include <string>

#include "core/auth/credentials.h"
#include "core/auth/external_principals.h"
#include "core/auth/groups.h"
#include "core/auth/invitations.h"
#include "core/auth/policies.h"
#include "core/auth/setup.h"
#include "core/auth/users.h"

namespace tarn::auth {

/// Safe from any thread.
struct Directory {
  /// `key` (32 bytes) seals secrets.
  Directory(db::Pool& database, const std::string& key)
      : pool(database),
        master_key(key),
        users(pool),
        groups(pool),
        policies(pool),
        credentials(pool, master_key),
        external_principals(pool),
        invitations(pool, master_key) {}

  bool has_users() { return auth::has_users(pool); }
  /// See setup.h.
  std::optional<NewKey> ensure_admin(std::string_view name, std::string_view access_key_id,
                                     std::string_view secret, Instant now) {
    return auth::ensure_admin(pool, master_key, name, access_key_id, secret, now);
  }

  db::Pool& pool;
  const std::string master_key;
  Users users;
  Groups groups;
  Policies policies;
  Credentials credentials;
  ExternalPrincipals external_principals;
  Invitations invitations;
};

}  // namespace tarn::auth
