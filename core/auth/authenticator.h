// Who a request comes from, and what they may do.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/auth/permissions.h"
#include "core/auth/users.h"
#include "core/base/time.h"

namespace tarn::auth {

/// Whoever asks. A value; cheap to copy.
struct Principal {
  User user;
  std::shared_ptr<const Permissions> permissions;  ///< never null
  std::string access_key_id{};                     ///< "" = proven by something else
};

struct AccessKey {
  std::string id;
  std::string secret;
  Principal principal;
};

struct LoginToken {
  std::string token;  ///< JWT, HS256
  Instant expires{};
};

/// Safe from any thread. What it answers is at most one second old, so that a key revoked or a
/// policy changed through one server holds on every server within that second.
class Authenticator {
 public:
  /// Loads or makes the installation's secrets and its built-in policies. `master_key` (32 bytes)
  /// opens what is stored.
  Authenticator(db::Pool& pool, const Clock& clock, std::string master_key);
  ~Authenticator();

  /// The key with its plain secret (SigV4 needs it); nullopt when unknown.
  std::optional<AccessKey> find_key(std::string_view access_key_id);
  /// Basic authentication; nullopt unless the pair is right. Constant time in the secret.
  std::optional<Principal> check_password(std::string_view access_key_id, std::string_view secret);
  /// Somebody who was proven before; nullopt when they are gone by now.
  std::optional<Principal> find_user(std::string_view name);
  LoginToken issue_token(const User& user);
  /// nullopt: malformed, forged, expired, or its user is gone.
  std::optional<Principal> check_token(std::string_view token);
  /// Whose key this was when it was last looked up here, however long ago; nullopt when that is
  /// forgotten. Asks no database and proves nothing.
  std::optional<std::string> remembered_owner(std::string_view access_key_id);
  /// Whom a token of ours names that has not expired, whether or not they still exist. Asks no
  /// database.
  std::optional<std::string> user_in(std::string_view token);
  /// Drops what is remembered, so that the caller's own next request sees its change.
  void forget();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tarn::auth
