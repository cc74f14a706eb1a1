// Authentication: the user of a request, and their permissions.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/auth/permissions.h"
#include "core/auth/users.h"
#include "core/base/time.h"
#include "core/base/uptime.h"

namespace tarn::auth {

/// The authenticated user. A value; cheap to copy.
struct Principal {
  User user;
  std::shared_ptr<const Permissions> permissions;  ///< never null
  std::string access_key_id{};                     ///< of the request or the login; "" = none
  Instant sessions_valid_from{};                   ///< changes with every logout
  /// Encoded statements that bound `permissions`, if the key has limits; "" = none.
  std::string limits{};
};

/// The user as one who asked with limits (Principal::limits) may act; "" = none. Prepares the
/// statements, which find_key does once for many requests.
Principal limited(Principal principal, std::string_view limits);

struct AccessKey {
  std::string id;
  std::string secret;
  Principal principal;
};

struct LoginToken {
  std::string token;  ///< JWT, HS256
  Instant expires{};
};

/// The source of the ages of what is remembered in memory.
using Uptime = std::function<std::chrono::milliseconds()>;

constexpr std::chrono::hours kSessionLife{12};
constexpr std::chrono::hours kRenewalAge{1};
constexpr std::chrono::hours kSessionLifeMax{24 * 7};

/// Safe from any thread. What it answers is at most one second old, so that a key revoked or a
/// policy changed through one server holds on every server within that second.
class Authenticator {
 public:
  /// Loads or creates the installation's secrets and its built-in policies. `master_key` (32 bytes)
  /// opens stored secrets. Tokens are judged by `clock`.
  Authenticator(db::Pool& pool, const Clock& clock, std::string master_key, Uptime age = uptime);
  ~Authenticator();

  /// The key with its plain secret (SigV4 needs it); nullopt when unknown.
  std::optional<AccessKey> find_key(std::string_view access_key_id);
  /// Basic authentication; nullopt unless the pair is right. Constant time in the secret. Throws
  /// resource_exhausted (reason "too_many_failures") after too many wrong secrets from `address`,
  /// unless the key was proven from there lately.
  std::optional<Principal> check_password(std::string_view access_key_id, std::string_view secret,
                                          std::string_view address);
  /// Takes note that a request from `address` was signed with the key.
  void note_signature(std::string_view access_key_id, std::string_view address);
  /// Throws as check_password when too many wrong secrets came from `address`.
  void expect_few_failures(std::string_view address) const;
  /// Counts a secret of no key, the token of an invitation for example, that was wrong.
  void note_wrong_token(std::string_view address);
  /// A user who was authenticated before; nullopt if the user no longer exists.
  std::optional<Principal> find_user(std::string_view name);
  /// A login, which lasts kSessionLife and ends with the access key it was made with. Asks the
  /// database when the user logged out last.
  LoginToken issue_token(const Principal& principal);
  /// nullopt if it is malformed, forged or expired, if its user or key no longer exists, or if the
  /// user logged out.
  std::optional<Principal> check_token(std::string_view token);
  /// When a token of ours expired; nullopt if it is no token of ours, or has not expired.
  std::optional<Instant> expiry_of_expired(std::string_view token);
  /// A token that continues with the login of a valid one, when that is kRenewalAge old; not beyond
  /// kSessionLifeMax from the login.
  std::optional<LoginToken> renewed(std::string_view token);
  /// Logs the user of a valid token out, everywhere.
  void end_sessions(std::string_view token);
  /// The owner of a key with which requests from `address` were signed lately; nullopt when that is
  /// not known. Asks no database.
  std::optional<std::string> remembered_signer(std::string_view access_key_id,
                                               std::string_view address);
  /// The owner of a key whose secret was this when it was last looked up here. Asks no database.
  std::optional<std::string> remembered_owner(std::string_view access_key_id,
                                              std::string_view secret);
  /// Whom a token of ours names that has not expired, whether or not they still exist. Asks no
  /// database.
  std::optional<std::string> user_in(std::string_view token);
  /// The time by which tokens are judged.
  Instant now() const;
  /// Clears the cache, so that the caller's next request sees its own change.
  void forget();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tarn::auth
