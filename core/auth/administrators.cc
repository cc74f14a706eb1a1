#include "core/auth/administrators.h"

#include "core/auth/built_in.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/db/pool.h"

namespace tarn::auth {
namespace {

constexpr db::Query kLockGroup{"auth_lock_administrators", R"sql(
  SELECT group_id FROM groups WHERE name = $1 FOR UPDATE)sql"};
constexpr db::Query kHasKeyedMember{"auth_has_keyed_member", R"sql(
  SELECT EXISTS (SELECT 1 FROM groups g JOIN group_members m USING (group_id) JOIN credentials c USING (user_id)
                 WHERE g.name = $1 AND c.expires_at IS NULL AND c.limits = ''))sql"};

bool has_administrator(db::Connection& connection) {
  return connection.run(kHasKeyedMember, {kAdmins}).boolean(0, 0);
}

}  // namespace

bool remove_but_the_last_administrator(db::Pool& pool,
                                       const std::function<bool(db::Connection&)>& remove) {
  return pool.transaction([&](db::Connection& connection) {
    connection.run(kLockGroup, {kAdmins});
    const bool had = has_administrator(connection);
    const bool removed = remove(connection);
    if (had && !has_administrator(connection)) {
      throw Error(ErrorCode::kConflict, reason::kLastAdministrator,
                  str_cat("nobody could administer this installation any more: give another member "
                          "of group ",
                          kAdmins, " an access key first"));
    }
    return removed;
  });
}

}  // namespace tarn::auth
