#include "core/auth/authenticator.h"

#include <array>
#include <map>

#include "core/auth/login_token.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/db/pool.h"

namespace tarn::auth {
namespace {

constexpr std::chrono::milliseconds kCacheLife{1000};  // a revoked key works for at most this long
constexpr size_t kCachedKeysMax = 10'000;
constexpr size_t kTokenKeyBytes = 32;
constexpr std::chrono::hours kTokenLife{24 * 7};
constexpr std::string_view kAdminName = "admin";
constexpr std::string_view kTokenKeySetting = "token_key";

constexpr db::Query kSelectKey{"auth_select_key", R"sql(
  SELECT c.secret, u.name, u.created_ms FROM credentials c JOIN users u USING (user_id)
  WHERE c.access_key_id = $1)sql"};
constexpr db::Query kSelectUser{"auth_select_user",
                                "SELECT name, created_ms FROM users WHERE name = $1"};
constexpr db::Query kSelectSetting{"auth_select_setting",
                                   "SELECT value FROM settings WHERE key = $1"};
constexpr db::Query kInsertSetting{"auth_insert_setting", R"sql(
  INSERT INTO settings (key, value) VALUES ($1, $2) ON CONFLICT DO NOTHING)sql"};
// The first of several starting servers makes the administrator.
constexpr db::Query kInsertFirstUser{"auth_insert_first_user", R"sql(
  INSERT INTO users (name, created_ms) SELECT $1, $2 WHERE NOT EXISTS (SELECT 1 FROM users)
  ON CONFLICT DO NOTHING RETURNING user_id)sql"};
constexpr db::Query kInsertKey{"auth_insert_key", R"sql(
  INSERT INTO credentials (access_key_id, user_id, secret, created_ms) VALUES ($1, $2, $3, $4))sql"};

/// Context that a sealed secret is bound to: it cannot be moved to another key's row.
std::string seal_context(std::string_view access_key_id) {
  return "access key " + std::string(access_key_id);
}

std::string generate_access_key_id() {
  // The shape that lakeFS's own tools check: AKIAJ, fourteen of [A-Z2-7], Q.
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  std::string id = "AKIAJ";
  for (char c : random_bytes(14))
    id.push_back(kAlphabet[static_cast<uint8_t>(c) % kAlphabet.size()]);
  return id + "Q";
}

std::string generate_secret() { return to_base64(random_bytes(30)); }

bool is_usable_key_id(std::string_view id) {
  if (id.size() < 3 || id.size() > 128) return false;
  for (char c : id) {
    if (c <= ' ' || c > '~' || c == '/' || c == ':') return false;
  }
  return true;
}

}  // namespace

struct Authenticator::State {
  State(db::Pool& p, const Clock& c, std::string key)
      : pool(p), clock(c), master_key(std::move(key)) {}

  struct Cached {
    AccessKey key;
    Instant until;
  };

  db::Pool& pool;
  const Clock& clock;
  const std::string master_key;
  std::string token_key;
  Mutex mutex;
  std::map<std::string, Cached, std::less<>> keys TARN_GUARDED_BY(mutex);
};

Authenticator::Authenticator(db::Pool& pool, const Clock& clock, std::string master_key)
    : state_(std::make_unique<State>(pool, clock, std::move(master_key))) {
  const std::string context = "setting " + std::string(kTokenKeySetting);
  const std::string fresh = seal(state_->master_key, context, random_bytes(kTokenKeyBytes));
  pool.run(kInsertSetting, {kTokenKeySetting, db::Bytes{fresh}}, db::Pool::Retry::kRead);
  const db::Rows rows = pool.run(kSelectSetting, {kTokenKeySetting}, db::Pool::Retry::kRead);
  const auto opened = open_sealed(state_->master_key, context, rows.bytes(0, 0));
  if (!opened) {
    throw Error(
        ErrorCode::kPreconditionFailed,
        "opening the installation's secrets: the master key is not the one this database was set "
        "up with; "
        "give the same auth.master_key (or master key file) to every server of this database");
  }
  state_->token_key = *opened;
}

Authenticator::~Authenticator() = default;

std::optional<AccessKey> Authenticator::find_key(std::string_view access_key_id) {
  if (!is_usable_key_id(access_key_id)) return std::nullopt;
  const Instant now = state_->clock.now();
  {
    MutexLock lock(state_->mutex);
    const auto at = state_->keys.find(access_key_id);
    if (at != state_->keys.end() && at->second.until > now) return at->second.key;
  }
  const db::Rows rows = state_->pool.run(kSelectKey, {access_key_id}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  const auto secret =
      open_sealed(state_->master_key, seal_context(access_key_id), rows.bytes(0, 0));
  if (!secret) throw Error(ErrorCode::kDataLoss, "access key: its sealed secret does not open");
  AccessKey key{std::string(access_key_id),
                *secret,
                {std::string(rows.text(0, 1)), from_millis(rows.integer(0, 2))}};
  MutexLock lock(state_->mutex);
  if (state_->keys.size() >= kCachedKeysMax) state_->keys.clear();
  state_->keys[key.id] = {key, now + kCacheLife};
  return key;
}

std::optional<User> Authenticator::check_password(std::string_view access_key_id,
                                                  std::string_view secret) {
  const auto key = find_key(access_key_id);
  if (!key || !constant_time_equal(key->secret, secret)) return std::nullopt;
  return key->user;
}

LoginToken Authenticator::issue_token(const User& user) {
  const Instant now = state_->clock.now();
  const LoginClaims claims{user.name, now, now + kTokenLife};
  return {sign_login_token(state_->token_key, claims), claims.expires};
}

std::optional<User> Authenticator::check_token(std::string_view token) {
  const auto claims = verify_login_token(state_->token_key, token);
  if (!claims || claims->expires <= state_->clock.now()) return std::nullopt;
  const db::Rows rows = state_->pool.run(kSelectUser, {claims->subject}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return User{std::string(rows.text(0, 0)), from_millis(rows.integer(0, 1))};
}

std::optional<AccessKey> Authenticator::ensure_admin(std::string_view access_key_id,
                                                     std::string_view secret) {
  AccessKey key;
  key.id = access_key_id.empty() ? generate_access_key_id() : std::string(access_key_id);
  key.secret = secret.empty() ? generate_secret() : std::string(secret);
  key.user = {std::string(kAdminName), state_->clock.now()};
  if (!is_usable_key_id(key.id)) {
    throw_invalid(
        "administrator's access key id: must be 3 to 128 printable characters without '/' and ':'");
  }
  const bool made = state_->pool.transaction([&](db::Connection& connection) {
    const db::Rows rows =
        connection.run(kInsertFirstUser, {key.user.name, to_millis(key.user.created)});
    if (rows.empty()) return false;
    const std::string sealed = seal(state_->master_key, seal_context(key.id), key.secret);
    connection.run(kInsertKey, {key.id, static_cast<int32_t>(rows.integer(0, 0)), db::Bytes{sealed},
                                to_millis(key.user.created)});
    return true;
  });
  if (!made) return std::nullopt;
  return key;
}

}  // namespace tarn::auth
