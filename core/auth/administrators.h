// The rule that an installation keeps an administrator who can sign in.
#pragma once

#include <functional>

namespace tarn::db {
class Connection;
class Pool;
}  // namespace tarn::db

namespace tarn::auth {

/// Runs `remove` in a transaction, which is rolled back when it takes the last access key of group
/// Admins' members away, or the last member who has one. Concurrent removals take turns, so that
/// two administrators cannot remove each other. Returns what `remove` does. Throws conflict (reason
/// "last_administrator").
bool remove_but_the_last_administrator(db::Pool& pool,
                                       const std::function<bool(db::Connection&)>& remove);

}  // namespace tarn::auth
