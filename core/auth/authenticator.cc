#include "core/auth/authenticator.h"

#include <map>

#include "core/auth/credentials.h"
#include "core/auth/login_token.h"
#include "core/auth/setup.h"
#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/mutex.h"
#include "core/db/pool.h"

namespace tarn::auth {
namespace {

/// Keys and permissions are each remembered this long; a revocation is seen after it, and after the
/// statement that was under way.
constexpr std::chrono::milliseconds kCacheLife{800};
constexpr size_t kCachedMax = 10'000;  ///< keys, and users
constexpr size_t kTokenKeyBytes = 32;
constexpr std::chrono::hours kTokenLife{24 * 7};
constexpr std::string_view kTokenKeySetting = "token_key";

constexpr db::Query kSelectKey{"auth_select_key", R"sql(
  SELECT c.secret, u.name FROM credentials c JOIN users u USING (user_id)
  WHERE c.access_key_id = $1)sql"};
// The user's row and, in further rows, every policy that holds for them.
constexpr db::Query kSelectPrincipal{"auth_select_principal_of_user", R"sql(
  SELECT u.name, u.created_ms, u.friendly_name, u.email, p.body
  FROM users u LEFT JOIN policies p ON p.policy_id IN (
    SELECT a.policy_id FROM user_policies a WHERE a.user_id = u.user_id
    UNION
    SELECT a.policy_id FROM group_members m JOIN group_policies a USING (group_id)
    WHERE m.user_id = u.user_id)
  WHERE u.name = $1)sql"};
constexpr db::Query kSelectSetting{"auth_select_setting",
                                   "SELECT value FROM settings WHERE key = $1"};
constexpr db::Query kInsertSetting{"auth_insert_setting", R"sql(
  INSERT INTO settings (key, value) VALUES ($1, $2) ON CONFLICT DO NOTHING)sql"};

}  // namespace

struct Authenticator::State {
  State(db::Pool& p, const Clock& c, std::string key)
      : pool(p), clock(c), master_key(std::move(key)) {}

  struct KeyFacts {
    std::string secret;
    std::string user;
  };
  template <typename Facts>
  struct Cached {
    Facts facts;
    Instant until;
  };
  template <typename Facts>
  using Cache = std::map<std::string, Cached<Facts>, std::less<>>;

  /// What `cache` knows and is young enough, or what `load` finds now (nullopt is not remembered).
  template <typename Facts, typename Load>
  std::optional<Facts> remembered(Cache<Facts> State::*cache, std::string_view name,
                                  const Load& load) {
    // Taken before the database is asked: the answer cannot be older than this.
    const Instant now = clock.now();
    {
      MutexLock lock(mutex);
      const auto at = (this->*cache).find(name);
      if (at != (this->*cache).end() && at->second.until > now) return at->second.facts;
    }
    std::optional<Facts> facts = load();
    if (!facts) return std::nullopt;
    MutexLock lock(mutex);
    if ((this->*cache).size() >= kCachedMax) (this->*cache).clear();
    (this->*cache).insert_or_assign(std::string(name), Cached<Facts>{*facts, now + kCacheLife});
    return facts;
  }

  std::optional<KeyFacts> load_key(std::string_view access_key_id) {
    const db::Rows rows = pool.run(kSelectKey, {access_key_id}, db::Pool::Retry::kRead);
    if (rows.empty()) return std::nullopt;
    return KeyFacts{open_secret(master_key, access_key_id, rows.bytes(0, 0)),
                    std::string(rows.text(0, 1))};
  }

  std::optional<Principal> load_principal(std::string_view user) {
    const db::Rows rows = pool.run(kSelectPrincipal, {user}, db::Pool::Retry::kRead);
    if (rows.empty()) return std::nullopt;
    std::vector<std::vector<Statement>> policies;
    for (size_t row = 0; row < rows.size(); ++row) {
      if (!rows.null(row, 4)) policies.push_back(decode_statements(rows.bytes(row, 4)));
    }
    return Principal{user_from(rows, 0), std::make_shared<const Permissions>(user, policies)};
  }

  std::optional<Principal> find_principal(std::string_view user) {
    return remembered(&State::principals, user, [&] { return load_principal(user); });
  }

  db::Pool& pool;
  const Clock& clock;
  const std::string master_key;
  std::string token_key;
  Mutex mutex;
  Cache<KeyFacts> keys;         // guarded by mutex
  Cache<Principal> principals;  // guarded by mutex, by user name
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
  ensure_built_ins(pool, clock.now());
}

Authenticator::~Authenticator() = default;

std::optional<AccessKey> Authenticator::find_key(std::string_view access_key_id) {
  if (!is_usable_key_id(access_key_id)) return std::nullopt;
  auto facts = state_->remembered(&State::keys, access_key_id,
                                  [&] { return state_->load_key(access_key_id); });
  if (!facts) return std::nullopt;
  std::optional<Principal> principal = state_->find_principal(facts->user);
  if (!principal) return std::nullopt;
  principal->access_key_id = access_key_id;
  return AccessKey{std::string(access_key_id), std::move(facts->secret), *std::move(principal)};
}

std::optional<Principal> Authenticator::check_password(std::string_view access_key_id,
                                                       std::string_view secret) {
  auto key = find_key(access_key_id);
  if (!key || !constant_time_equal(key->secret, secret)) return std::nullopt;
  return std::move(key->principal);
}

std::optional<Principal> Authenticator::find_user(std::string_view name) {
  return state_->find_principal(name);
}

LoginToken Authenticator::issue_token(const User& user) {
  const Instant now = state_->clock.now();
  const LoginClaims claims{user.name, now, now + kTokenLife};
  return {sign_login_token(state_->token_key, claims), claims.expires};
}

std::optional<Principal> Authenticator::check_token(std::string_view token) {
  const auto claims = verify_login_token(state_->token_key, token);
  if (!claims || claims->expires <= state_->clock.now()) return std::nullopt;
  std::optional<Principal> principal = state_->find_principal(claims->subject);
  // A user made anew under an old name is another user. Tokens tell whole seconds.
  if (!principal || claims->issued + std::chrono::seconds{1} <= principal->user.created) {
    return std::nullopt;
  }
  return principal;
}

std::optional<std::string> Authenticator::remembered_owner(std::string_view access_key_id) {
  MutexLock lock(state_->mutex);
  const auto at = state_->keys.find(access_key_id);
  if (at == state_->keys.end()) return std::nullopt;
  return at->second.facts.user;
}

std::optional<std::string> Authenticator::user_in(std::string_view token) {
  auto claims = verify_login_token(state_->token_key, token);
  if (!claims || claims->expires <= state_->clock.now()) return std::nullopt;
  return std::move(claims->subject);
}

void Authenticator::forget() {
  MutexLock lock(state_->mutex);
  state_->keys.clear();
  state_->principals.clear();
}

}  // namespace tarn::auth
