// Explanations of permissions: the decision on an action, and the statement that made it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/auth/permissions.h"
#include "core/auth/policy.h"

namespace tarn::auth {

/// By its whole name, as "fs:ReadObject"; nullopt for patterns and unknown names.
std::optional<Action> find_action(std::string_view name);

struct Explanation {
  Permissions::Decision decision = Permissions::Decision::kNotAllowed;
  std::string policy{};  ///< "" if nothing allows or denies it
  size_t statement = 0;  ///< of the policy, from 0
};

/// The policies of a user, prepared statement by statement. Immutable. Slower than Permissions by
/// the number of statements; decides alike.
class ExplainedPermissions {
 public:
  ExplainedPermissions(std::string_view user, const std::vector<Policy>& policies);

  /// The first statement that denies, else the first that allows.
  Explanation explain(Action action, std::string_view resource,
                      std::string_view client_address) const;

 private:
  struct One {
    std::string policy;
    size_t statement;
    Permissions permissions;
  };
  std::vector<One> statements_;
};

}  // namespace tarn::auth
