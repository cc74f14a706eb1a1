// JSON bodies of permission checks.
#pragma once

#include <string>
#include <vector>

#include "core/auth/explanation.h"
#include "server/api/json/document.h"

namespace tarn::api::json {

constexpr size_t kPermissionChecksMax = 100;

struct PermissionCheck {
  auth::Action action;
  std::string resource;
};

/// PermissionChecks.
struct PermissionChecks {
  std::string user;  ///< "" = the caller
  std::vector<PermissionCheck> checks;
};
PermissionChecks parse_permission_checks(const Value& body);

/// `explanations` belong to the checks in the same order; without `names` they do not say which
/// statements decided.
std::string permission_checks_body(const PermissionChecks& checked,
                                   const std::vector<auth::Explanation>& explanations, bool names);

}  // namespace tarn::api::json
