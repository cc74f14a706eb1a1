// Policy rows and their attachments.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/auth/policy.h"
#include "core/auth/users.h"

namespace tarn::auth {

/// Safe from any thread.
class Policies {
 public:
  explicit Policies(db::Pool& pool) : pool_(pool) {}

  std::optional<Policy> find(std::string_view name);
  Page<Policy> list(const PageStart& start);
  /// Attached to the user; with `effective` those of the user's groups too.
  Page<Policy> of_user(std::string_view user, bool effective, const PageStart& start);
  Page<Policy> of_group(std::string_view group, const PageStart& start);
  /// kDone or kExists. Throws invalid_argument for the name or a statement.
  Outcome create(const Policy& policy);
  /// Replaces the statements; nullopt = the policy does not exist. Throws invalid_argument.
  std::optional<Policy> update(std::string_view name, const std::vector<Statement>& statements);
  /// Includes its attachments. false if it did not exist.
  bool remove(std::string_view name);

  /// kDone, kExists, kNoUser or kNoPolicy.
  Outcome attach_to_user(std::string_view user, std::string_view policy);
  /// kDone, kExists, kNoGroup or kNoPolicy.
  Outcome attach_to_group(std::string_view group, std::string_view policy);
  /// false = was not attached.
  bool detach_from_user(std::string_view user, std::string_view policy);
  bool detach_from_group(std::string_view group, std::string_view policy);
  /// Makes these the group's policies, all at once. kDone or kNoGroup; throws not_found when one of
  /// the policies is.
  Outcome set_of_group(std::string_view group, const std::vector<std::string>& policies);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::auth
