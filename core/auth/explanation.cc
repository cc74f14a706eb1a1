#include "core/auth/explanation.h"

namespace tarn::auth {

std::optional<Action> find_action(std::string_view name) {
  for (size_t i = 0; i < kActionCount; ++i) {
    if (name_of(static_cast<Action>(i)) == name) return static_cast<Action>(i);
  }
  return std::nullopt;
}

ExplainedPermissions::ExplainedPermissions(std::string_view user,
                                           const std::vector<Policy>& policies) {
  for (const Policy& policy : policies) {
    for (size_t i = 0; i < policy.statements.size(); ++i) {
      statements_.push_back({policy.name, i, Permissions(user, {{policy.statements[i]}})});
    }
  }
}

Explanation ExplainedPermissions::explain(Action action, std::string_view resource,
                                          std::string_view client_address) const {
  Explanation found;
  for (const One& one : statements_) {
    const Permissions::Decision decision = one.permissions.decide(action, resource, client_address);
    if (decision == Permissions::Decision::kDenied) return {decision, one.policy, one.statement};
    if (decision == Permissions::Decision::kAllowed &&
        found.decision == Permissions::Decision::kNotAllowed) {
      found = {decision, one.policy, one.statement};
    }
  }
  return found;
}

}  // namespace tarn::auth
