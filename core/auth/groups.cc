#include "core/auth/groups.h"

#include "core/auth/account_name.h"
#include "core/auth/administrators.h"
#include "core/db/pool.h"
#include "core/model/listing.h"

namespace tarn::auth {
namespace {

constexpr db::Query kSelectGroup{"auth_select_group", R"sql(
  SELECT name, description, created_ms FROM groups WHERE name = $1)sql"};
constexpr db::Query kSelectPage{"auth_select_groups", R"sql(
  SELECT name, description, created_ms FROM groups
  WHERE name > $1 AND name >= $2 AND starts_with(name, $2) ORDER BY name LIMIT $3)sql"};
constexpr db::Query kSelectOfUser{"auth_select_groups_of_user", R"sql(
  SELECT g.name, g.description, g.created_ms
  FROM users u JOIN group_members m USING (user_id) JOIN groups g USING (group_id)
  WHERE u.name = $4 AND g.name > $1 AND g.name >= $2 AND starts_with(g.name, $2)
  ORDER BY g.name LIMIT $3)sql"};
constexpr db::Query kInsertGroup{"auth_insert_group", R"sql(
  INSERT INTO groups (name, description, created_ms) VALUES ($1, $2, $3)
  ON CONFLICT DO NOTHING)sql"};
constexpr db::Query kDeleteGroup{"auth_delete_group", "DELETE FROM groups WHERE name = $1"};
constexpr db::Query kInsertMember{"auth_insert_member", R"sql(
  WITH g AS (SELECT group_id FROM groups WHERE name = $1 FOR KEY SHARE),
  u AS (SELECT user_id FROM users WHERE name = $2 FOR KEY SHARE),
  made AS (INSERT INTO group_members (group_id, user_id) SELECT group_id, user_id FROM g, u
           ON CONFLICT DO NOTHING RETURNING 1)
  SELECT (SELECT count(*) FROM g), (SELECT count(*) FROM u), (SELECT count(*) FROM made))sql"};
constexpr db::Query kDeleteMember{"auth_delete_member", R"sql(
  DELETE FROM group_members
  WHERE group_id = (SELECT group_id FROM groups WHERE name = $1)
    AND user_id = (SELECT user_id FROM users WHERE name = $2))sql"};

Group group_from(const db::Rows& rows, size_t row) {
  struct Column {
    enum : int { kName, kDescription, kCreatedMs };
  };
  return {std::string(rows.text(row, Column::kName)),
          std::string(rows.text(row, Column::kDescription)),
          from_millis(rows.integer(row, Column::kCreatedMs))};
}

const std::string& name_of_group(const Group& group) { return group.name; }

}  // namespace

std::optional<Group> Groups::find(std::string_view name) {
  const db::Rows rows = pool_.run(kSelectGroup, {name}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return group_from(rows, 0);
}

Page<Group> Groups::list(const PageStart& start) {
  return page_of<Group>(pool_.run(kSelectPage, {start.after, start.prefix, row_limit(start.limit)},
                                  db::Pool::Retry::kRead),
                        start.limit, group_from, name_of_group);
}

Page<Group> Groups::of_user(std::string_view user, const PageStart& start) {
  return page_of<Group>(
      pool_.run(kSelectOfUser, {start.after, start.prefix, row_limit(start.limit), user},
                db::Pool::Retry::kRead),
      start.limit, group_from, name_of_group);
}

Outcome Groups::create(const Group& group) {
  check_account_name("group", group.name);
  const db::Rows rows =
      pool_.run(kInsertGroup, {group.name, group.description, to_millis(group.created)},
                db::Pool::Retry::kWrite);
  return rows.affected() == 1 ? Outcome::kDone : Outcome::kExists;
}

bool Groups::remove(std::string_view name) {
  return remove_but_the_last_administrator(pool_, [&](db::Connection& connection) {
    return connection.run(kDeleteGroup, {name}).affected() == 1;
  });
}

Outcome Groups::add_member(std::string_view group, std::string_view user) {
  struct Column {
    enum : int { kGroups, kUsers, kMade };
  };
  const db::Rows rows = pool_.run(kInsertMember, {group, user}, db::Pool::Retry::kWrite);
  if (rows.integer(0, Column::kGroups) == 0) return Outcome::kNoGroup;
  if (rows.integer(0, Column::kUsers) == 0) return Outcome::kNoUser;
  return rows.integer(0, Column::kMade) == 1 ? Outcome::kDone : Outcome::kExists;
}

bool Groups::remove_member(std::string_view group, std::string_view user) {
  return remove_but_the_last_administrator(pool_, [&](db::Connection& connection) {
    return connection.run(kDeleteMember, {group, user}).affected() == 1;
  });
}

}  // namespace tarn::auth
