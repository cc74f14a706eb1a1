// Access key rows: their secrets are stored sealed and shown once.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/auth/policy.h"
#include "core/auth/users.h"

namespace tarn::auth {

/// Maximum number of keys of one user.
constexpr int64_t kKeysPerUserMax = 100;

/// Longest life of a key with an end.
constexpr std::chrono::hours kKeyLifeMax{24 * 366};

struct KeyRow {
  std::string id;
  Instant created{};
  std::optional<Instant> expires{};  ///< nullopt: it has no end
  std::vector<Statement> limits{};   ///< empty: none
};

/// Limits of a key, so that who has it may do less than its user, and for a time.
struct KeyLimits {
  std::optional<std::chrono::seconds> life{};  ///< nullopt: no end
  std::vector<Statement> statements{};         ///< empty: everything that the user may
};

/// An access key as it is shown when it is made, and never again.
struct NewKey {
  std::string id;
  std::string secret;
  Instant created{};
  std::optional<Instant> expires{};  ///< nullopt: it has no end
};

/// AKIAJ, fourteen of [A-Z2-7], Q: the shape that lakeFS's tools check.
std::string generate_access_key_id();
/// 40 characters of base64.
std::string generate_secret();
/// 3 to 128 printable characters without '/' and ':'.
bool is_usable_key_id(std::string_view id);

/// Makes a key of the user, whose row the transaction has locked. Keys of the user that have ended
/// are deleted. Throws invalid_argument past kKeysPerUserMax. Only a caller that locked the row
/// before sees the keys of concurrent requests.
NewKey add_key(db::Connection& connection, std::string_view master_key, int32_t user_id,
               Instant now, const KeyLimits& limits = {});

/// Safe from any thread.
class Credentials {
 public:
  /// `master_key` (32 bytes) seals secrets.
  Credentials(db::Pool& pool, std::string master_key)
      : pool_(pool), master_key_(std::move(master_key)) {}

  std::optional<KeyRow> find(std::string_view user, std::string_view access_key_id);
  Page<KeyRow> list(std::string_view user, const PageStart& start);
  /// nullopt = no such user. Throws invalid_argument past kKeysPerUserMax.
  std::optional<NewKey> create(std::string_view user, Instant now) { return create(user, now, {}); }
  /// The same with limits, which end by the database's clock. Throws invalid_argument for a life
  /// that is not positive or beyond kKeyLifeMax, and as check_statements.
  std::optional<NewKey> create(std::string_view user, Instant now, const KeyLimits& limits);
  /// false = the user has no such key. Throws conflict for the last administrator
  /// (administrators.h).
  bool remove(std::string_view user, std::string_view access_key_id);

 private:
  db::Pool& pool_;
  const std::string master_key_;
};

/// How a secret is sealed: bound to its key, so that it cannot be moved to another key's row.
std::string seal_secret(std::string_view master_key, std::string_view access_key_id,
                        std::string_view secret);
/// Throws data_loss.
std::string open_secret(std::string_view master_key, std::string_view access_key_id,
                        std::string_view sealed);

}  // namespace tarn::auth
