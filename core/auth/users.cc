#include "core/auth/users.h"

#include "core/auth/account_name.h"
#include "core/auth/administrators.h"
#include "core/db/pool.h"
#include "core/model/listing.h"

namespace tarn::auth {
namespace {

constexpr db::Query kSelectUser{"auth_select_user", R"sql(
  SELECT name, created_ms, friendly_name, email FROM users WHERE name = $1)sql"};
constexpr db::Query kSelectPage{"auth_select_users", R"sql(
  SELECT name, created_ms, friendly_name, email FROM users
  WHERE name > $1 AND name >= $2 AND starts_with(name, $2) ORDER BY name LIMIT $3)sql"};
constexpr db::Query kSelectMembers{"auth_select_members", R"sql(
  SELECT u.name, u.created_ms, u.friendly_name, u.email
  FROM groups g JOIN group_members m USING (group_id) JOIN users u USING (user_id)
  WHERE g.name = $4 AND u.name > $1 AND u.name >= $2 AND starts_with(u.name, $2)
  ORDER BY u.name LIMIT $3)sql"};
constexpr db::Query kInsertUser{"auth_insert_user", R"sql(
  INSERT INTO users (name, created_ms, friendly_name, email) VALUES ($1, $2, $3, $4)
  ON CONFLICT DO NOTHING)sql"};
constexpr db::Query kDeleteUser{"auth_delete_user", "DELETE FROM users WHERE name = $1"};

const std::string& name_of_user(const User& user) { return user.name; }

}  // namespace

const std::string& User::committer() const {
  if (!friendly_name.empty()) return friendly_name;
  return email.empty() ? name : email;
}

User user_from(const db::Rows& rows, size_t row) {
  using Column = UserColumn;
  return {std::string(rows.text(row, Column::kName)),
          from_millis(rows.integer(row, Column::kCreatedMs)),
          std::string(rows.text(row, Column::kFriendlyName)),
          std::string(rows.text(row, Column::kEmail))};
}

std::optional<User> Users::find(std::string_view name) {
  const db::Rows rows = pool_.run(kSelectUser, {name}, db::Pool::Retry::kRead);
  if (rows.empty()) return std::nullopt;
  return user_from(rows, 0);
}

Page<User> Users::list(const PageStart& start) {
  const db::Rows rows = pool_.run(kSelectPage, {start.after, start.prefix, row_limit(start.limit)},
                                  db::Pool::Retry::kRead);
  return page_of<User>(rows, start.limit, user_from, name_of_user);
}

Page<User> Users::members(std::string_view group, const PageStart& start) {
  const db::Rows rows =
      pool_.run(kSelectMembers, {start.after, start.prefix, row_limit(start.limit), group},
                db::Pool::Retry::kRead);
  return page_of<User>(rows, start.limit, user_from, name_of_user);
}

Outcome Users::create(const User& user) {
  check_account_name("user", user.name);
  check_display_name("friendly", user.friendly_name);
  check_display_name("email", user.email);
  const db::Rows rows =
      pool_.run(kInsertUser, {user.name, to_millis(user.created), user.friendly_name, user.email},
                db::Pool::Retry::kWrite);
  return rows.affected() == 1 ? Outcome::kDone : Outcome::kExists;
}

bool Users::remove(std::string_view name) {
  return remove_but_the_last_administrator(pool_, [&](db::Connection& connection) {
    return connection.run(kDeleteUser, {name}).affected() == 1;
  });
}

}  // namespace tarn::auth
