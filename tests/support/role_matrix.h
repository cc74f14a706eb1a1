// Roles for permission tests of every operation, derived from the permissions that it needs. REST
// and S3 share them, so that every role is tried on both.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/auth/policy.h"

namespace tarn::testing {

struct Permission {
  std::string_view action;
  std::string_view resource;  ///< the last part of the ARN, or "*"
};

using Statements = std::vector<auth::Statement>;

struct Role {
  std::string name;
  Statements statements{};  ///< none = a user without a policy
};

inline std::string arn_of(std::string_view resource) {
  if (resource == "*") return "*";
  const bool files = resource.starts_with("repository/") || resource.starts_with("namespace/");
  return (files ? "arn:lakefs:fs:::" : "arn:lakefs:auth:::") + std::string(resource);
}

/// Allows each of the needs; `change` (may be empty) replaces their resources.
inline Statements allowing(const std::vector<Permission>& needs,
                           const std::function<std::string(std::string)>& change = {}) {
  Statements out;
  for (const Permission& need : needs) {
    std::string resource(need.resource);
    if (change) resource = change(std::move(resource));
    out.push_back(
        {auth::Statement::Effect::kAllow, {std::string(need.action)}, {arn_of(resource)}, {}});
  }
  return out;
}

inline auth::Statement allowing_everything() {
  return {auth::Statement::Effect::kAllow, {"*"}, {"*"}, {}};
}

/// The same permissions on another repository, branch, prefix, tag, user and so on: one role for
/// each part of a resource's name.
inline std::vector<Role> misplaced(const std::vector<Permission>& needs) {
  struct Other {
    std::string_view part;
    std::string_view instead;
  };
  constexpr Other kOthers[] = {
      {"repository/", "repository/other-"},
      {"/branch/", "/branch/other-"},
      {"/object/", "/object/elsewhere/"},
      {"/object/", "/ref/other/object/"},
      {"/tag/", "/tag/other-"},
      {"/alias/", "/alias/other-"},
      {"user/", "user/other-"},
      {"group/", "group/other-"},
      {"policy/", "policy/other-"},
      {"externalPrincipal/", "externalPrincipal/other-"},
      {"namespace/", "namespace/other-"},
  };
  std::vector<Role> out;
  for (const Other& other : kOthers) {
    bool changed = false;
    Statements statements = allowing(needs, [&](std::string resource) {
      const size_t at = resource.find(other.part);
      if (at == std::string::npos) return resource;
      changed = true;
      return resource.replace(at, other.part.size(), other.instead);
    });
    if (changed) out.push_back({"allowed on " + std::string(other.instead), std::move(statements)});
  }
  const bool of_all = std::any_of(needs.begin(), needs.end(),
                                  [](const Permission& need) { return need.resource == "*"; });
  if (of_all) {
    out.push_back({"allowed on one repository",
                   allowing(needs, [](std::string) { return std::string("repository/data"); })});
  }
  return out;
}

/// All roles that must be refused, most of which have similar permissions.
inline std::vector<Role> refused_roles(const std::vector<Permission>& needs) {
  std::vector<Role> out = {{"without a policy"}};
  for (size_t left_out = 0; left_out < needs.size() && needs.size() > 1; ++left_out) {
    Role role{"without " + std::string(needs[left_out].action), allowing(needs)};
    role.statements.erase(role.statements.begin() + static_cast<std::ptrdiff_t>(left_out));
    out.push_back(std::move(role));
  }
  for (Role& role : misplaced(needs)) out.push_back(std::move(role));
  for (size_t i = 0; i < needs.size(); ++i) {
    auth::Statement denial = allowing(needs)[i];
    denial.effect = auth::Statement::Effect::kDeny;
    Role denied{"denied " + std::string(needs[i].action), allowing(needs)};
    denied.statements.push_back(denial);
    out.push_back(std::move(denied));
    out.push_back({"allowed everything, denied " + std::string(needs[i].action),
                   {allowing_everything(), denial}});
  }
  return out;
}

}  // namespace tarn::testing
