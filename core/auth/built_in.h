// The groups and policies every installation starts with, under the names lakeFS gives them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/auth/policy.h"

namespace tarn::auth {

constexpr std::string_view kAdmins = "Admins";

struct BuiltInGroup {
  std::string_view name;
  std::string_view description;
  std::vector<std::string> policies;
};

std::vector<Policy> built_in_policies();
std::vector<BuiltInGroup> built_in_groups();

/// The policies that one of lakeFS's access levels ("Read", "Write", "Super", "Admin") means for a
/// group, sorted; empty = no such level.
std::vector<std::string> policies_of_level(std::string_view level);
/// The level with these policies; "" for no policies, nullopt if they match no level.
std::optional<std::string_view> level_of_policies(std::vector<std::string> policies);

}  // namespace tarn::auth
