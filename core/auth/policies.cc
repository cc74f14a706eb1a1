#include "core/auth/policies.h"

#include "core/auth/account_name.h"
#include "core/base/reasons.h"
#include "core/db/pool.h"
#include "core/model/listing.h"

namespace tarn::auth {
namespace {

constexpr db::Query kSelectPolicy{"auth_select_policy", R"sql(
  SELECT name, created_ms, body FROM policies WHERE name = $1)sql"};
constexpr db::Query kSelectPage{"auth_select_policies", R"sql(
  SELECT name, created_ms, body FROM policies
  WHERE name > $1 AND name >= $2 AND starts_with(name, $2) ORDER BY name LIMIT $3)sql"};
constexpr db::Query kSelectOfUser{"auth_select_policies_of_user", R"sql(
  SELECT p.name, p.created_ms, p.body FROM policies p
  WHERE p.name > $1 AND p.name >= $2 AND starts_with(p.name, $2) AND p.policy_id IN (
    SELECT a.policy_id FROM user_policies a JOIN users u USING (user_id) WHERE u.name = $4
    UNION
    SELECT a.policy_id FROM users u JOIN group_members m USING (user_id) JOIN group_policies a USING (group_id)
    WHERE u.name = $4 AND $5)
  ORDER BY p.name LIMIT $3)sql"};
constexpr db::Query kSelectOfGroup{"auth_select_policies_of_group", R"sql(
  SELECT p.name, p.created_ms, p.body
  FROM groups g JOIN group_policies a USING (group_id) JOIN policies p USING (policy_id)
  WHERE g.name = $4 AND p.name > $1 AND p.name >= $2 AND starts_with(p.name, $2)
  ORDER BY p.name LIMIT $3)sql"};
constexpr db::Query kInsertPolicy{"auth_insert_policy", R"sql(
  INSERT INTO policies (name, body, created_ms) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING)sql"};
constexpr db::Query kUpdatePolicy{"auth_update_policy", R"sql(
  UPDATE policies SET body = $2 WHERE name = $1 RETURNING name, created_ms, body)sql"};
constexpr db::Query kDeletePolicy{"auth_delete_policy", "DELETE FROM policies WHERE name = $1"};

constexpr db::Query kAttachToUser{"auth_attach_to_user", R"sql(
  WITH u AS (SELECT user_id FROM users WHERE name = $1 FOR KEY SHARE),
  p AS (SELECT policy_id FROM policies WHERE name = $2 FOR KEY SHARE),
  made AS (INSERT INTO user_policies (user_id, policy_id) SELECT user_id, policy_id FROM u, p
           ON CONFLICT DO NOTHING RETURNING 1)
  SELECT (SELECT count(*) FROM u), (SELECT count(*) FROM p), (SELECT count(*) FROM made))sql"};
constexpr db::Query kAttachToGroup{"auth_attach_to_group", R"sql(
  WITH g AS (SELECT group_id FROM groups WHERE name = $1 FOR KEY SHARE),
  p AS (SELECT policy_id FROM policies WHERE name = $2 FOR KEY SHARE),
  made AS (INSERT INTO group_policies (group_id, policy_id) SELECT group_id, policy_id FROM g, p
           ON CONFLICT DO NOTHING RETURNING 1)
  SELECT (SELECT count(*) FROM g), (SELECT count(*) FROM p), (SELECT count(*) FROM made))sql"};
constexpr db::Query kDetachFromUser{"auth_detach_from_user", R"sql(
  DELETE FROM user_policies
  WHERE user_id = (SELECT user_id FROM users WHERE name = $1)
    AND policy_id = (SELECT policy_id FROM policies WHERE name = $2))sql"};
constexpr db::Query kDetachFromGroup{"auth_detach_from_group", R"sql(
  DELETE FROM group_policies
  WHERE group_id = (SELECT group_id FROM groups WHERE name = $1)
    AND policy_id = (SELECT policy_id FROM policies WHERE name = $2))sql"};
constexpr db::Query kLockGroup{"auth_lock_group",
                               "SELECT group_id FROM groups WHERE name = $1 FOR UPDATE"};
constexpr db::Query kClearGroup{"auth_clear_group",
                                "DELETE FROM group_policies WHERE group_id = $1"};
constexpr db::Query kFillGroup{"auth_fill_group", R"sql(
  INSERT INTO group_policies (group_id, policy_id)
  SELECT $1, policy_id FROM policies WHERE name = ANY ($2))sql"};

Policy policy_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int { kName, kCreatedMs, kBody };
  };
  return {std::string(rows.text(row, Column::kName)),
          from_millis(rows.integer(row, Column::kCreatedMs)),
          decode_statements(rows.bytes(row, Column::kBody))};
}

const std::string& name_of_policy(const Policy& policy) { return policy.name; }

Outcome attached(const db::Rows& rows, Outcome no_holder) {
  struct Column {
    enum : int { kHolders, kPolicies, kMade };
  };
  if (rows.integer(0, Column::kHolders) == 0) return no_holder;
  if (rows.integer(0, Column::kPolicies) == 0) return Outcome::kNoPolicy;
  return rows.integer(0, Column::kMade) == 1 ? Outcome::kDone : Outcome::kExists;
}

}  // namespace

std::optional<Policy> Policies::find(std::string_view name) {
  const db::Rows rows = pool_.run(kSelectPolicy, {name}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return policy_from(rows, 0);
}

Page<Policy> Policies::list(const PageStart& start) {
  return page_of<Policy>(pool_.run(kSelectPage, {start.after, start.prefix, row_limit(start.limit)},
                                   db::Pool::Retry::kRead),
                         start.limit, policy_from, name_of_policy);
}

Page<Policy> Policies::of_user(std::string_view user, bool effective, const PageStart& start) {
  return page_of<Policy>(
      pool_.run(kSelectOfUser, {start.after, start.prefix, row_limit(start.limit), user, effective},
                db::Pool::Retry::kRead),
      start.limit, policy_from, name_of_policy);
}

Page<Policy> Policies::of_group(std::string_view group, const PageStart& start) {
  return page_of<Policy>(
      pool_.run(kSelectOfGroup, {start.after, start.prefix, row_limit(start.limit), group},
                db::Pool::Retry::kRead),
      start.limit, policy_from, name_of_policy);
}

Outcome Policies::create(const Policy& policy) {
  check_account_name("policy", policy.name);
  check_statements(policy.statements);
  const std::string body = encode_statements(policy.statements);
  const db::Rows rows =
      pool_.run(kInsertPolicy, {policy.name, db::Bytes{body}, to_millis(policy.created)},
                db::Pool::Retry::kWrite);
  return rows.affected() == 1 ? Outcome::kDone : Outcome::kExists;
}

std::optional<Policy> Policies::update(std::string_view name,
                                       const std::vector<Statement>& statements) {
  check_statements(statements);
  const std::string body = encode_statements(statements);
  const db::Rows rows = pool_.run(kUpdatePolicy, {name, db::Bytes{body}}, db::Pool::Retry::kWrite);
  if (rows.empty()) return std::nullopt;
  return policy_from(rows, 0);
}

bool Policies::remove(std::string_view name) {
  return pool_.run(kDeletePolicy, {name}, db::Pool::Retry::kWrite).affected() == 1;
}

Outcome Policies::attach_to_user(std::string_view user, std::string_view policy) {
  return attached(pool_.run(kAttachToUser, {user, policy}, db::Pool::Retry::kWrite),
                  Outcome::kNoUser);
}

Outcome Policies::attach_to_group(std::string_view group, std::string_view policy) {
  return attached(pool_.run(kAttachToGroup, {group, policy}, db::Pool::Retry::kWrite),
                  Outcome::kNoGroup);
}

bool Policies::detach_from_user(std::string_view user, std::string_view policy) {
  return pool_.run(kDetachFromUser, {user, policy}, db::Pool::Retry::kWrite).affected() == 1;
}

bool Policies::detach_from_group(std::string_view group, std::string_view policy) {
  return pool_.run(kDetachFromGroup, {group, policy}, db::Pool::Retry::kWrite).affected() == 1;
}

Outcome Policies::set_of_group(std::string_view group, const std::vector<std::string>& policies) {
  return pool_.transaction([&](db::Connection& connection) {
    const db::Rows found = connection.run(kLockGroup, {group});
    if (found.empty()) return Outcome::kNoGroup;
    const auto id = static_cast<int32_t>(found.integer(0, 0));
    connection.run(kClearGroup, {id});
    const db::Rows filled = connection.run(kFillGroup, {id, policies});
    // Throwing rolls the transaction back.
    if (filled.affected() != policies.size()) {
      throw Error(ErrorCode::kNotFound, reason::kPolicyNotFound,
                  "policy not found: one of the built-in policies was deleted");
    }
    return Outcome::kDone;
  });
}

}  // namespace tarn::auth
