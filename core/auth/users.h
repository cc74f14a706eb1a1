// User rows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "core/model/page.h"

namespace tarn::db {
class Connection;
class Pool;
class Rows;
}  // namespace tarn::db

namespace tarn::auth {

struct User {
  std::string name;
  Instant created{};
  std::string friendly_name{};  ///< "" = none
  std::string email{};          ///< "" = none

  /// The committer's name: the friendly name, the email or the name, the first that is set.
  const std::string& committer() const;
};

/// Results of creating or attaching something.
enum class Outcome { kDone, kExists, kNoUser, kNoGroup, kNoPolicy };

/// Safe from any thread.
class Users {
 public:
  explicit Users(db::Pool& pool) : pool_(pool) {}

  std::optional<User> find(std::string_view name);
  Page<User> list(const PageStart& start);
  Page<User> members(std::string_view group, const PageStart& start);
  /// kDone or kExists. Throws invalid_argument for the name, the friendly name and the email.
  Outcome create(const User& user);
  /// Includes the user's keys, memberships and policies. false if the user did not exist. Throws
  /// conflict for the last administrator (administrators.h).
  bool remove(std::string_view name);

 private:
  db::Pool& pool_;
};

/// The first columns of rows that user_from() reads.
struct UserColumn {
  enum : int { kName, kCreatedMs, kFriendlyName, kEmail, kEnd };
};

User user_from(const db::Rows& rows, size_t row);

}  // namespace tarn::auth
