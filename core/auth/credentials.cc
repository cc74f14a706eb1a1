#include "core/auth/credentials.h"

#include "core/auth/administrators.h"
#include "core/auth/resource.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/db/pool.h"
#include "core/model/listing.h"

namespace tarn::auth {
namespace {

constexpr db::Query kSelectKey{"auth_select_key_row", R"sql(
  SELECT c.access_key_id, c.created_ms, (extract(epoch FROM c.expires_at) * 1000)::bigint AS expires_ms, c.limits
  FROM users u JOIN credentials c USING (user_id)
  WHERE u.name = $1 AND c.access_key_id = $2)sql"};
constexpr db::Query kSelectPage{"auth_select_keys", R"sql(
  SELECT c.access_key_id, c.created_ms, (extract(epoch FROM c.expires_at) * 1000)::bigint AS expires_ms, c.limits
  FROM users u JOIN credentials c USING (user_id)
  WHERE u.name = $4 AND c.access_key_id > $1 AND c.access_key_id >= $2 AND starts_with(c.access_key_id, $2)
  ORDER BY c.access_key_id LIMIT $3)sql"};
// Must run before the statement that counts keys: that then sees the keys of the previous lock
// holder, so that two concurrent requests cannot both create the last allowed key.
constexpr db::Query kLockUser{"auth_lock_user", R"sql(
  SELECT user_id FROM users WHERE name = $1 FOR NO KEY UPDATE)sql"};
constexpr db::Query kInsertKey{"auth_insert_user_key", R"sql(
  INSERT INTO credentials (access_key_id, user_id, secret, created_ms, expires_at, limits)
  SELECT $2, $1, $3, $4, clock_timestamp() + $6 * interval '1 second', $7
  WHERE (SELECT count(*) FROM credentials WHERE user_id = $1) < $5
  RETURNING (extract(epoch FROM expires_at) * 1000)::bigint AS expires_ms)sql"};
constexpr db::Query kDeleteEnded{"auth_delete_ended_keys", R"sql(
  DELETE FROM credentials WHERE user_id = $1 AND expires_at <= clock_timestamp())sql"};
constexpr db::Query kDeleteKey{"auth_delete_key", R"sql(
  DELETE FROM credentials
  WHERE access_key_id = $2 AND user_id = (SELECT user_id FROM users WHERE name = $1))sql"};

KeyRow key_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int { kAccessKeyId, kCreatedMs, kExpiresMs, kLimits };
  };
  KeyRow key{std::string(rows.text(row, Column::kAccessKeyId)),
             from_millis(rows.integer(row, Column::kCreatedMs))};
  if (!rows.null(row, Column::kExpiresMs)) {
    key.expires = from_millis(rows.integer(row, Column::kExpiresMs));
  }
  if (const auto limits = rows.bytes(row, Column::kLimits); !limits.empty()) {
    key.limits = decode_statements(limits);
  }
  return key;
}

const std::string& id_of_key(const KeyRow& key) { return key.id; }

std::string seal_context(std::string_view access_key_id) {
  return str_cat("access key ", access_key_id);
}

}  // namespace

std::string generate_access_key_id() {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
  std::string id = "AKIAJ";
  for (const char c : random_bytes(14)) {
    id.push_back(kAlphabet[static_cast<uint8_t>(c) % kAlphabet.size()]);
  }
  return id + "Q";
}

std::string generate_secret() { return to_base64(random_bytes(30)); }

bool is_usable_key_id(std::string_view id) {
  if (id.size() < 3 || id.size() > 128) return false;
  for (const char c : id) {
    if (c <= ' ' || c > '~' || c == '/' || c == ':') return false;
  }
  return true;
}

std::string seal_secret(std::string_view master_key, std::string_view access_key_id,
                        std::string_view secret) {
  return seal(master_key, seal_context(access_key_id), secret);
}

std::string open_secret(std::string_view master_key, std::string_view access_key_id,
                        std::string_view sealed) {
  const auto secret = open_sealed(master_key, seal_context(access_key_id), sealed);
  if (!secret) throw Error(ErrorCode::kDataLoss, "access key: its sealed secret does not open");
  return *secret;
}

std::optional<KeyRow> Credentials::find(std::string_view user, std::string_view access_key_id) {
  const db::Rows rows = pool_.run(kSelectKey, {user, access_key_id}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return key_from(rows, 0);
}

Page<KeyRow> Credentials::list(std::string_view user, const PageStart& start) {
  return page_of<KeyRow>(
      pool_.run(kSelectPage, {start.after, start.prefix, row_limit(start.limit), user},
                db::Pool::Retry::kRead),
      start.limit, key_from, id_of_key);
}

namespace {

/// The stored form. A key with an end has limits in any case, so that it makes no key without one.
std::string encoded(const KeyLimits& limits) {
  if (!limits.statements.empty()) return encode_statements(limits.statements);
  if (!limits.life) return "";
  return encode_statements({{Statement::Effect::kAllow, {"*"}, {std::string(kEverything)}, {}}});
}

void check(const KeyLimits& limits) {
  if (limits.life && (*limits.life <= std::chrono::seconds{0} || *limits.life > kKeyLifeMax)) {
    throw_invalid(str_cat("life of a key: must be between 1 second and ",
                          std::chrono::duration_cast<std::chrono::days>(kKeyLifeMax).count(),
                          " days"));
  }
  if (!limits.statements.empty()) check_statements(limits.statements);
}

}  // namespace

NewKey add_key(db::Connection& connection, std::string_view master_key, int32_t user_id,
               Instant now, const KeyLimits& limits) {
  NewKey key{generate_access_key_id(), generate_secret(), now, {}};
  const std::string sealed = seal_secret(master_key, key.id, key.secret);
  connection.run(kDeleteEnded, {user_id});
  const std::string encoded_limits = encoded(limits);
  const auto life = limits.life ? std::optional<int64_t>(limits.life->count()) : std::nullopt;
  const db::Rows made =
      connection.run(kInsertKey, {user_id, key.id, db::Bytes{sealed}, to_millis(now),
                                  kKeysPerUserMax, life, db::Bytes{encoded_limits}});
  if (made.empty()) {
    throw Error(ErrorCode::kInvalidArgument, reason::kTooManyCredentials,
                str_cat("user has ", kKeysPerUserMax,
                        " access keys, which is the most: delete one that is not used any more"));
  }
  if (!made.null(0, 0)) key.expires = from_millis(made.integer(0, 0));
  return key;
}

std::optional<NewKey> Credentials::create(std::string_view user, Instant now,
                                          const KeyLimits& limits) {
  check(limits);
  return pool_.transaction([&](db::Connection& connection) -> std::optional<NewKey> {
    const db::Rows found = connection.run(kLockUser, {user});
    if (found.empty()) return std::nullopt;
    return add_key(connection, master_key_, static_cast<int32_t>(found.integer(0, 0)), now, limits);
  });
}

bool Credentials::remove(std::string_view user, std::string_view access_key_id) {
  return remove_but_the_last_administrator(pool_, [&](db::Connection& connection) {
    return connection.run(kDeleteKey, {user, access_key_id}).affected() == 1;
  });
}

}  // namespace tarn::auth
