#include "core/auth/recovery.h"

#include "core/auth/built_in.h"
#include "core/db/pool.h"

namespace tarn::auth {
namespace {

constexpr db::Query kInsertUser{"auth_recover_user", R"sql(
  INSERT INTO users (name, created_ms) VALUES ($1, $2) ON CONFLICT DO NOTHING)sql"};
constexpr db::Query kLockUser{"auth_recover_lock_user", R"sql(
  SELECT user_id FROM users WHERE name = $1 FOR UPDATE)sql"};
constexpr db::Query kInsertGroup{"auth_recover_group", R"sql(
  INSERT INTO groups (name, description, created_ms) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING)sql"};
constexpr db::Query kAttach{"auth_recover_policies", R"sql(
  INSERT INTO group_policies (group_id, policy_id)
  SELECT g.group_id, p.policy_id FROM groups g, policies p WHERE g.name = $1 AND p.name = ANY ($2)
  ON CONFLICT DO NOTHING)sql"};
constexpr db::Query kJoin{"auth_recover_membership", R"sql(
  INSERT INTO group_members (group_id, user_id) SELECT group_id, $2 FROM groups WHERE name = $1
  ON CONFLICT DO NOTHING)sql"};
constexpr db::Query kInsertKey{"auth_recover_key", R"sql(
  INSERT INTO credentials (access_key_id, user_id, secret, created_ms) VALUES ($1, $2, $3, $4))sql"};

}  // namespace

NewKey recover_admin(db::Pool& pool, std::string_view master_key, std::string_view name,
                     Instant now) {
  const NewKey key{generate_access_key_id(), generate_secret(), now};
  pool.transaction([&](db::Connection& connection) {
    connection.run(kInsertUser, {name, to_millis(now)});
    const auto user = static_cast<int32_t>(connection.run(kLockUser, {name}).integer(0, 0));
    for (const BuiltInGroup& group : built_in_groups()) {
      if (group.name != kAdmins) continue;
      connection.run(kInsertGroup, {group.name, group.description, to_millis(now)});
      connection.run(kAttach, {group.name, group.policies});
    }
    connection.run(kJoin, {kAdmins, user});
    const std::string sealed = seal_secret(master_key, key.id, key.secret);
    connection.run(kInsertKey, {key.id, user, db::Bytes{sealed}, to_millis(now)});
  });
  return key;
}

}  // namespace tarn::auth
