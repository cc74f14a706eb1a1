#include "core/auth/setup.h"

#include "core/auth/account_name.h"
#include "core/auth/built_in.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/db/pool.h"

namespace tarn::auth {
namespace {

constexpr std::string_view kBuiltInsSetting = "built_in_policies";

constexpr db::Query kClaimSetting{"auth_claim_setting", R"sql(
  INSERT INTO settings (key, value) VALUES ($1, $2) ON CONFLICT DO NOTHING)sql"};
constexpr db::Query kInsertPolicy{"auth_insert_built_in_policy", R"sql(
  INSERT INTO policies (name, body, created_ms) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING)sql"};
constexpr db::Query kInsertGroup{"auth_insert_built_in_group", R"sql(
  INSERT INTO groups (name, description, created_ms) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING)sql"};
constexpr db::Query kAttach{"auth_attach_built_ins", R"sql(
  INSERT INTO group_policies (group_id, policy_id)
  SELECT g.group_id, p.policy_id FROM groups g, policies p WHERE g.name = $1 AND p.name = ANY ($2)
  ON CONFLICT DO NOTHING)sql"};

constexpr db::Query kSelectAnyUser{"auth_select_any_user", "SELECT 1 FROM users LIMIT 1"};
// The first of concurrent setups creates the administrator.
constexpr db::Query kInsertFirstUser{"auth_insert_first_user", R"sql(
  INSERT INTO users (name, created_ms) SELECT $1, $2 WHERE NOT EXISTS (SELECT 1 FROM users)
  ON CONFLICT DO NOTHING RETURNING user_id)sql"};
constexpr db::Query kLockUsers{"auth_lock_users", "LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE"};
constexpr db::Query kInsertKey{"auth_insert_key", R"sql(
  INSERT INTO credentials (access_key_id, user_id, secret, created_ms) VALUES ($1, $2, $3, $4))sql"};
constexpr db::Query kJoinAdmins{"auth_join_admins", R"sql(
  INSERT INTO group_members (group_id, user_id) SELECT group_id, $2 FROM groups WHERE name = $1)sql"};

}  // namespace

void ensure_built_ins(db::Pool& pool, Instant now) {
  pool.transaction([&](db::Connection& connection) {
    // Waits for a concurrent server that is doing the same.
    if (connection.run(kClaimSetting, {kBuiltInsSetting, db::Bytes{"made"}}).affected() == 0)
      return;
    for (const Policy& policy : built_in_policies()) {
      const std::string body = encode_statements(policy.statements);
      connection.run(kInsertPolicy, {policy.name, db::Bytes{body}, to_millis(now)});
    }
    for (const BuiltInGroup& group : built_in_groups()) {
      connection.run(kInsertGroup, {group.name, group.description, to_millis(now)});
      connection.run(kAttach, {group.name, group.policies});
    }
  });
}

bool has_users(db::Pool& pool) {
  return !pool.run(kSelectAnyUser, {}, db::Pool::Retry::kRead).empty();
}

std::optional<NewKey> ensure_admin(db::Pool& pool, std::string_view master_key,
                                   std::string_view name, std::string_view access_key_id,
                                   std::string_view secret, Instant now) {
  check_account_name("user", name);
  NewKey key{access_key_id.empty() ? generate_access_key_id() : std::string(access_key_id),
             secret.empty() ? generate_secret() : std::string(secret), now};
  if (!is_usable_key_id(key.id)) {
    throw_invalid(
        "administrator's access key id: must be 3 to 128 printable characters without '/' and ':'");
  }
  if (key.secret.size() < kSecretBytesMin) {
    throw_invalid(str_cat("administrator's secret access key: must have ", kSecretBytesMin,
                          " characters or more; leave it out to have one made"));
  }
  const bool made = pool.transaction([&](db::Connection& connection) {
    connection.run(kLockUsers, {});
    const db::Rows rows = connection.run(kInsertFirstUser, {name, to_millis(now)});
    if (rows.empty()) return false;
    const auto user = static_cast<int32_t>(rows.integer(0, 0));
    const std::string sealed = seal_secret(master_key, key.id, key.secret);
    connection.run(kInsertKey, {key.id, user, db::Bytes{sealed}, to_millis(now)});
    connection.run(kJoinAdmins, {kAdmins, user});
    return true;
  });
  if (!made) return std::nullopt;
  return key;
}

}  // namespace tarn::auth
