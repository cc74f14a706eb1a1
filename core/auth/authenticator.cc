#include "core/auth/authenticator.h"

#include <charconv>
#include <map>

#include "core/auth/credentials.h"
#include "core/auth/failed_logins.h"
#include "core/auth/proven_keys.h"
#include "core/auth/setup.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/metrics.h"
#include "core/base/mutex.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/db/pool.h"

namespace tarn::auth {
namespace {

struct LoginClaims {
  std::string subject;        ///< user name
  Instant subject_created{};  ///< distinguishes the user from a later one of that name
  std::string access_key_id;  ///< that the login was made with; "" = with none
  Instant began{};            ///< the login
  Instant issued{};           ///< this token, which may renew that login
  Instant expires{};
  /// The user's sessions_valid_from at the login: each logout increases it, whatever the clock
  /// shows.
  Instant valid_from{};
};

constexpr std::string_view kHeader = R"({"alg":"HS256","typ":"JWT"})";
constexpr size_t kTokenBytesMax = 4096;

// Names travel percent-encoded, in the claim set's own order, which is the only order accepted:
// what is parsed here was signed by sign_login_token, byte for byte. RFC 7519 wants seconds in exp
// and iat; the claims of our own are in milliseconds.
std::string claim_set(const LoginClaims& claims, std::string_view token_id) {
  return str_cat(R"({"aud":"login","exp":)", to_seconds(claims.expires), R"(,"iat":)",
                 to_seconds(claims.issued), R"(,"issued_ms":)", to_millis(claims.issued),
                 R"(,"began_ms":)", to_millis(claims.began), R"(,"created_ms":)",
                 to_millis(claims.subject_created), R"(,"valid_from_ms":)",
                 to_millis(claims.valid_from), R"(,"iss":"auth","jti":")", token_id, R"(","key":")",
                 percent_encode(claims.access_key_id), R"(","sub":")",
                 percent_encode(claims.subject), R"("})");
}

/// The text between `before` and `after`.
std::optional<std::string_view> between(std::string_view text, std::string_view before,
                                        std::string_view after) {
  const size_t start = text.find(before);
  if (start == std::string_view::npos) return std::nullopt;
  const size_t from = start + before.size();
  const size_t end = text.find(after, from);
  if (end == std::string_view::npos) return std::nullopt;
  return text.substr(from, end - from);
}

/// The number between `before` and the next comma.
std::optional<int64_t> number_behind(std::string_view text, std::string_view before) {
  const auto digits = between(text, before, ",");
  if (!digits) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits->data(), digits->data() + digits->size(), value);
  if (error != std::errc() || end != digits->data() + digits->size()) return std::nullopt;
  return value;
}

std::string sign_login_token(std::string_view key, const LoginClaims& claims) {
  const std::string body =
      to_base64url(kHeader) + "." + to_base64url(claim_set(claims, to_hex(random_bytes(16))));
  return body + "." + to_base64url(hmac_sha256(key, body));
}

/// nullopt unless this key signed it. Expiry is the caller's to check.
std::optional<LoginClaims> verify_login_token(std::string_view key, std::string_view token) {
  if (token.size() > kTokenBytesMax) return std::nullopt;
  const size_t dot = token.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view body = token.substr(0, dot);
  const auto signature = from_base64url(token.substr(dot + 1));
  if (!signature || !constant_time_equal(*signature, hmac_sha256(key, body))) return std::nullopt;
  const size_t middle = body.find('.');
  if (middle == std::string_view::npos || body.substr(0, middle) != to_base64url(kHeader))
    return std::nullopt;
  const auto claims = from_base64url(body.substr(middle + 1));
  if (!claims) return std::nullopt;
  const auto expires = number_behind(*claims, R"("exp":)");
  const auto issued = number_behind(*claims, R"("issued_ms":)");
  const auto began = number_behind(*claims, R"("began_ms":)");
  const auto created = number_behind(*claims, R"("created_ms":)");
  const auto key_text = between(*claims, R"("key":")", "\"");
  const auto subject = between(*claims, R"("sub":")", "\"");
  const auto valid_from = number_behind(*claims, R"("valid_from_ms":)");
  if (!expires || !issued || !began || !created || !key_text || !subject || !valid_from) {
    return std::nullopt;
  }
  const auto name = percent_decode(*subject);
  const auto key_id = percent_decode(*key_text);
  if (!name || !key_id) return std::nullopt;
  return LoginClaims{.subject = *name,
                     .subject_created = from_millis(*created),
                     .access_key_id = *key_id,
                     .began = from_millis(*began),
                     .issued = from_millis(*issued),
                     .expires = Instant{std::chrono::seconds{*expires}},
                     .valid_from = from_millis(*valid_from)};
}

/// Keys and permissions are each remembered this long; a revocation is seen after it, and after the
/// statement that was under way.
constexpr std::chrono::milliseconds kCacheLife{800};
constexpr size_t kCachedMax = 10'000;  ///< entries per cache
constexpr size_t kTokenKeyBytes = 32;
constexpr std::string_view kTokenKeySetting = "token_key";

constexpr db::Query kSelectKey{"auth_select_key", R"sql(
  SELECT c.secret, u.name, c.limits FROM credentials c JOIN users u USING (user_id)
  WHERE c.access_key_id = $1 AND (c.expires_at IS NULL OR c.expires_at > clock_timestamp()))sql"};
// The user's row, joined with every policy that applies to the user.
constexpr db::Query kSelectPrincipal{"auth_select_principal_of_user", R"sql(
  SELECT u.name, u.created_ms, u.friendly_name, u.email, p.body, u.sessions_valid_from_ms
  FROM users u LEFT JOIN policies p ON p.policy_id IN (
    SELECT a.policy_id FROM user_policies a WHERE a.user_id = u.user_id
    UNION
    SELECT a.policy_id FROM group_members m JOIN group_policies a USING (group_id)
    WHERE m.user_id = u.user_id)
  WHERE u.name = $1)sql"};
constexpr db::Query kSelectSessions{"auth_select_sessions", R"sql(
  SELECT sessions_valid_from_ms FROM users WHERE name = $1 AND created_ms = $2)sql"};
// The value changes in any case, also if the clock was set back since it was written.
constexpr db::Query kEndSessions{"auth_end_sessions", R"sql(
  UPDATE users SET sessions_valid_from_ms = greatest($3 + 1, $2)
  WHERE name = $1 AND sessions_valid_from_ms <= $3)sql"};
constexpr db::Query kSelectSetting{"auth_select_setting",
                                   "SELECT value FROM settings WHERE key = $1"};
constexpr db::Query kInsertSetting{"auth_insert_setting", R"sql(
  INSERT INTO settings (key, value) VALUES ($1, $2) ON CONFLICT DO NOTHING)sql"};

metrics::Counter& login_failures(std::string_view why) {
  return metrics::counter("tarn_login_failures_total",
                          "Logins and Basic authentications that failed, by reason.",
                          {"reason", why});
}

[[noreturn]] void throw_too_many_failures() {
  throw Error(ErrorCode::kResourceExhausted, reason::kTooManyFailures,
              "too many wrong secrets came from this address: check the access key, and try again "
              "in a minute");
}

std::shared_ptr<const Permissions> prepared(std::string_view user, std::string_view limits) {
  return std::make_shared<const Permissions>(
      user, std::vector<std::vector<Statement>>{decode_statements(limits)});
}

Principal limited(Principal principal, std::string_view limits,
                  const std::shared_ptr<const Permissions>& prepared) {
  if (!prepared) return principal;
  principal.limits = limits;
  principal.permissions = std::make_shared<const Permissions>(principal.permissions, prepared);
  return principal;
}

}  // namespace

struct Authenticator::State {
  State(db::Pool& p, const Clock& c, std::string key, Uptime uptime)
      : pool(p), clock(c), master_key(std::move(key)), age(std::move(uptime)) {}

  struct KeyFacts {
    std::string secret;
    std::string user;
    std::string limits;
    std::shared_ptr<const Permissions> prepared_limits;  ///< null without limits
  };
  template <typename Facts>
  struct Cached {
    Facts facts;
    std::chrono::milliseconds until;  ///< uptime
  };
  template <typename Facts>
  using Cache = std::map<std::string, Cached<Facts>, std::less<>>;

  /// Returns the cached value if it is recent enough, else the result of `load` (nullopt is not
  /// cached).
  template <typename Facts, typename Load>
  std::optional<Facts> remembered(Cache<Facts> State::*cache, std::string_view name,
                                  const Load& load) {
    // Read before the query: the result is at least as recent.
    const std::chrono::milliseconds now = age();
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
    struct Column {
      enum : int { kSecret, kName, kLimits };
    };
    const db::Rows rows = pool.run(kSelectKey, {access_key_id}, db::Pool::Retry::kRead);
    if (rows.empty()) return std::nullopt;
    KeyFacts facts{open_secret(master_key, access_key_id, rows.bytes(0, Column::kSecret)),
                   std::string(rows.text(0, Column::kName)),
                   std::string(rows.bytes(0, Column::kLimits)), nullptr};
    if (!facts.limits.empty()) facts.prepared_limits = prepared(facts.user, facts.limits);
    return facts;
  }

  std::optional<Principal> load_principal(std::string_view user) {
    struct Column {
      enum : int { kBody = UserColumn::kEnd, kSessionsValidFromMs };
    };
    const db::Rows rows = pool.run(kSelectPrincipal, {user}, db::Pool::Retry::kRead);
    if (rows.empty()) return std::nullopt;
    std::vector<std::vector<Statement>> policies;
    for (size_t row = 0; row < rows.size(); ++row) {
      if (!rows.null(row, Column::kBody))
        policies.push_back(decode_statements(rows.bytes(row, Column::kBody)));
    }
    return Principal{
        .user = user_from(rows, 0),
        .permissions = std::make_shared<const Permissions>(user, policies),
        .sessions_valid_from = from_millis(rows.integer(0, Column::kSessionsValidFromMs))};
  }

  std::optional<Principal> find_principal(std::string_view user) {
    return remembered(&State::principals, user, [&] { return load_principal(user); });
  }

  void failed(std::string_view access_key_id, std::string_view address, bool known);

  db::Pool& pool;
  const Clock& clock;
  const std::string master_key;
  const Uptime age;
  std::string token_key;
  Mutex mutex;
  Cache<KeyFacts> keys;         // guarded by mutex
  Cache<Principal> principals;  // guarded by mutex, by user name
  ProvenKeys proven;
  FailedLogins failures;
  metrics::Counter& wrong_secrets = login_failures("wrong_secret");
  metrics::Counter& unknown_keys = login_failures("unknown_key");
  metrics::Counter& wrong_tokens = login_failures("wrong_token");
  metrics::Counter& refused = login_failures("too_many");
};

void Authenticator::State::failed(std::string_view access_key_id, std::string_view address,
                                  bool known) {
  (known ? wrong_secrets : unknown_keys).add();
  failures.add(known ? access_key_id : "", address, age());
  // Do not log an unknown key id: it may be a secret that was entered in the wrong field.
  log::warn("login_failed",
            {{"address", address}, {"access_key_id", known ? access_key_id : "(unknown)"}});
}

Authenticator::Authenticator(db::Pool& pool, const Clock& clock, std::string master_key, Uptime age)
    : state_(std::make_unique<State>(pool, clock, std::move(master_key), std::move(age))) {
  const std::string context = "setting " + std::string(kTokenKeySetting);
  const std::string fresh = seal(state_->master_key, context, random_bytes(kTokenKeyBytes));
  pool.run(kInsertSetting, {kTokenKeySetting, db::Bytes{fresh}}, db::Pool::Retry::kRepeatable);
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

Principal limited(Principal principal, std::string_view limits) {
  if (limits.empty()) return principal;
  const std::string user = principal.user.name;
  return limited(std::move(principal), limits, prepared(user, limits));
}

std::optional<AccessKey> Authenticator::find_key(std::string_view access_key_id) {
  if (!is_usable_key_id(access_key_id)) return std::nullopt;
  auto facts = state_->remembered(&State::keys, access_key_id,
                                  [&] { return state_->load_key(access_key_id); });
  if (!facts) return std::nullopt;
  std::optional<Principal> principal = state_->find_principal(facts->user);
  if (!principal) return std::nullopt;
  principal->access_key_id = access_key_id;
  return AccessKey{std::string(access_key_id), std::move(facts->secret),
                   limited(*std::move(principal), facts->limits, facts->prepared_limits)};
}

std::optional<Principal> Authenticator::check_password(std::string_view access_key_id,
                                                       std::string_view secret,
                                                       std::string_view address) {
  const std::chrono::milliseconds now = state_->age();
  // Failures of others at a shared address, such as a gateway, do not lock out a key that was
  // recently proven there.
  if (!state_->failures.allows_another(access_key_id, address, now) &&
      !state_->proven.contains(access_key_id, address, now)) {
    state_->refused.add();
    throw_too_many_failures();
  }
  auto key = find_key(access_key_id);
  if (!key || !constant_time_equal(key->secret, secret)) {
    state_->failed(access_key_id, address, key.has_value());
    return std::nullopt;
  }
  state_->proven.add(access_key_id, address, now);
  return std::move(key->principal);
}

void Authenticator::expect_few_failures(std::string_view address) const {
  if (state_->failures.allows_another("", address, state_->age())) return;
  state_->refused.add();
  throw_too_many_failures();
}

void Authenticator::note_wrong_token(std::string_view address) {
  state_->wrong_tokens.add();
  state_->failures.add("", address, state_->age());
  log::warn("invitation_refused", {{"address", address}});
}

void Authenticator::note_signature(std::string_view access_key_id, std::string_view address) {
  state_->proven.add(access_key_id, address, state_->age());
}

std::optional<Principal> Authenticator::find_user(std::string_view name) {
  return state_->find_principal(name);
}

LoginToken Authenticator::issue_token(const Principal& principal) {
  // The principal may be older than a logout on another server.
  const db::Rows rows =
      state_->pool.run(kSelectSessions, {principal.user.name, to_millis(principal.user.created)},
                       db::Pool::Retry::kRead);
  const Instant valid_from =
      rows.empty() ? principal.sessions_valid_from : from_millis(rows.integer(0, 0));
  const Instant now = state_->clock.now();
  const LoginClaims claims{.subject = principal.user.name,
                           .subject_created = principal.user.created,
                           .access_key_id = principal.access_key_id,
                           .began = now,
                           .issued = now,
                           .expires = now + kSessionLife,
                           .valid_from = valid_from};
  return {sign_login_token(state_->token_key, claims), claims.expires};
}

std::optional<Principal> Authenticator::check_token(std::string_view token) {
  const auto claims = verify_login_token(state_->token_key, token);
  if (!claims || claims->expires <= state_->clock.now()) return std::nullopt;
  const auto of_token = [&](const Principal& found) {
    return found.user.name == claims->subject && found.user.created == claims->subject_created &&
           found.sessions_valid_from <= claims->valid_from;
  };
  std::optional<Principal> principal;
  if (claims->access_key_id.empty()) {
    principal = state_->find_principal(claims->subject);
  } else if (auto key = find_key(claims->access_key_id)) {
    principal = std::move(key->principal);
  }
  if (!principal || !of_token(*principal)) return std::nullopt;
  return principal;
}

std::optional<Instant> Authenticator::expiry_of_expired(std::string_view token) {
  const auto claims = verify_login_token(state_->token_key, token);
  if (!claims || claims->expires > state_->clock.now()) return std::nullopt;
  return claims->expires;
}

std::optional<LoginToken> Authenticator::renewed(std::string_view token) {
  auto claims = verify_login_token(state_->token_key, token);
  const Instant now = state_->clock.now();
  if (!claims || now < claims->issued + kRenewalAge) return std::nullopt;
  const Instant expires = std::min(now + kSessionLife, claims->began + kSessionLifeMax);
  if (expires <= claims->expires) return std::nullopt;
  claims->issued = now;
  claims->expires = expires;
  return LoginToken{sign_login_token(state_->token_key, *claims), expires};
}

void Authenticator::end_sessions(std::string_view token) {
  const auto principal = check_token(token);
  if (!principal) return;
  const auto claims = verify_login_token(state_->token_key, token);
  state_->pool.run(
      kEndSessions,
      {principal->user.name, to_millis(state_->clock.now()), to_millis(claims->valid_from)},
      db::Pool::Retry::kRepeatable);
  forget();
}

std::optional<std::string> Authenticator::remembered_signer(std::string_view access_key_id,
                                                            std::string_view address) {
  if (!state_->proven.contains(access_key_id, address, state_->age())) return std::nullopt;
  MutexLock lock(state_->mutex);
  const auto at = state_->keys.find(access_key_id);
  if (at == state_->keys.end()) return std::nullopt;
  return at->second.facts.user;
}

std::optional<std::string> Authenticator::remembered_owner(std::string_view access_key_id,
                                                           std::string_view secret) {
  MutexLock lock(state_->mutex);
  const auto at = state_->keys.find(access_key_id);
  if (at == state_->keys.end() || !constant_time_equal(at->second.facts.secret, secret)) {
    return std::nullopt;
  }
  return at->second.facts.user;
}

std::optional<std::string> Authenticator::user_in(std::string_view token) {
  auto claims = verify_login_token(state_->token_key, token);
  if (!claims || claims->expires <= state_->clock.now()) return std::nullopt;
  return std::move(claims->subject);
}

Instant Authenticator::now() const { return state_->clock.now(); }

void Authenticator::forget() {
  MutexLock lock(state_->mutex);
  state_->keys.clear();
  state_->principals.clear();
}

}  // namespace tarn::auth
