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

/// Grows with every change of built_in_policies, from 1 to 127; an installation is brought up to it
/// once (setup.h).
constexpr char kBuiltInsRevision = 2;
std::vector<Policy> built_in_policies();
/// Policies that earlier versions made under names of built_in_policies, whose text has changed
/// since.
std::vector<Policy> superseded_policies();
std::vector<BuiltInGroup> built_in_groups();

/// The policies that one of lakeFS's access levels ("Read", "Write", "Super", "Admin") means for a
/// group, sorted; empty = no such level.
std::vector<std::string> policies_of_level(std::string_view level);
/// The level with these policies; "" for no policies, nullopt if they match no level.
std::optional<std::string_view> level_of_policies(std::vector<std::string> policies);

}  // namespace tarn::auth
