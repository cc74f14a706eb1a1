// Who a request comes from: access keys, login tokens, and the first administrator.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/time.h"

namespace tarn::db {
class Pool;
}

namespace tarn::auth {

struct User {
  std::string name;
  Instant created{};
};

struct AccessKey {
  std::string id;  ///< 3..128 characters without '/', as given or AKIAJ + 14 + Q
  std::string secret;
  User user;
};

struct LoginToken {
  std::string token;  ///< JWT, HS256
  Instant expires{};
};

/// Safe from any thread. Keys are cached for one second.
class Authenticator {
 public:
  /// Loads or makes the installation's secrets. `master_key` (32 bytes) seals what is stored.
  Authenticator(db::Pool& pool, const Clock& clock, std::string master_key);
  ~Authenticator();

  /// The key with its plain secret (SigV4 needs it); nullopt when unknown.
  std::optional<AccessKey> find_key(std::string_view access_key_id);
  /// Basic authentication; nullopt unless the pair is right. Constant time in the secret.
  std::optional<User> check_password(std::string_view access_key_id, std::string_view secret);
  LoginToken issue_token(const User& user);
  /// nullopt: malformed, forged or expired.
  std::optional<User> check_token(std::string_view token);

  /// Makes user `admin` with these keys (or generated ones) unless a user exists. Returns the keys
  /// only when it made them: the one moment the secret can be shown. Safe when several servers
  /// start at once.
  std::optional<AccessKey> ensure_admin(std::string_view access_key_id, std::string_view secret);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tarn::auth
