// Group rows and their members.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/auth/users.h"

namespace tarn::auth {

struct Group {
  std::string name;
  std::string description;
  Instant created{};
};

/// Safe from any thread.
class Groups {
 public:
  explicit Groups(db::Pool& pool) : pool_(pool) {}

  std::optional<Group> find(std::string_view name);
  Page<Group> list(const PageStart& start);
  Page<Group> of_user(std::string_view user, const PageStart& start);
  /// kDone or kExists. Throws invalid_argument for the name.
  Outcome create(const Group& group);
  /// Includes its memberships. false if it did not exist. Throws conflict for the last
  /// administrator (administrators.h).
  bool remove(std::string_view name);
  /// kDone, kExists, kNoGroup or kNoUser.
  Outcome add_member(std::string_view group, std::string_view user);
  /// false = the user was not in it. Throws conflict for the last administrator
  /// (administrators.h).
  bool remove_member(std::string_view group, std::string_view user);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::auth
