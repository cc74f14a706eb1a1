#include "core/auth/built_in.h"

#include <algorithm>

#include "core/auth/resource.h"

namespace tarn::auth {
namespace {

Policy allowing(std::string name, std::vector<std::string> actions,
                std::string resource = std::string(kEverything)) {
  return {std::move(name),
          {},
          {{Statement::Effect::kAllow, std::move(actions), {std::move(resource)}, {}}}};
}

struct Level {
  std::string_view name;
  std::vector<std::string> policies;  ///< sorted
};

const std::vector<Level>& levels() {
  static const std::vector<Level> kLevels = {
      {"Admin", {"AuthFullAccess", "FSFullAccess", "PRReadWriteAll", "RepoManagementFullAccess"}},
      {"Super",
       {"AuthManageOwnCredentials", "FSFullAccess", "PRReadWriteAll", "RepoManagementReadAll"}},
      {"Write",
       {"AuthManageOwnCredentials", "FSReadWriteAll", "PRReadWriteAll", "RepoManagementReadAll"}},
      {"Read", {"AuthManageOwnCredentials", "FSReadAll"}},
  };
  return kLevels;
}

}  // namespace

std::vector<Policy> built_in_policies() {
  return {
      allowing("FSFullAccess", {"fs:*"}),
      allowing("FSReadAll", {"fs:List*", "fs:Read*"}),
      allowing("FSReadWriteAll",
               {"fs:List*", "fs:Read*", "fs:WriteObject", "fs:DeleteObject", "fs:RevertBranch",
                "fs:CreateBranch", "fs:DeleteBranch", "fs:CreateTag", "fs:DeleteTag", "fs:SetAlias",
                "fs:CreateCommit", "fs:CreateRun", "fs:Promote"}),
      allowing("AuthFullAccess", {"auth:*"}),
      allowing("AuthManageOwnCredentials",
               {"auth:CreateCredentials", "auth:DeleteCredentials", "auth:ListCredentials",
                "auth:ReadCredentials"},
               user_arn("${user}")),
      allowing("RepoManagementFullAccess",
               {"ci:*", "retention:*", "branches:*", "fs:ReadConfig", "fs:WriteHooks"}),
      allowing("RepoManagementReadAll",
               {"ci:Read*", "retention:Get*", "branches:Get*", "fs:ReadConfig"}),
      allowing("PRReadWriteAll", {"pr:*"}),
      allowing("CatalogReadAll", {"catalog:Get*", "catalog:List*"}),
      allowing("CatalogReadWriteAll", {"catalog:*"}),
  };
}

std::vector<BuiltInGroup> built_in_groups() {
  return {
      {kAdmins, "Everything, users and policies included", policies_of_level("Admin")},
      {"SuperUsers", "Every repository; their own access keys", policies_of_level("Super")},
      {"Developers", "Reading and writing in every repository; their own access keys",
       policies_of_level("Write")},
      {"Viewers", "Reading every repository; their own access keys", policies_of_level("Read")},
  };
}

std::vector<std::string> policies_of_level(std::string_view level) {
  for (const Level& known : levels()) {
    if (known.name == level) return known.policies;
  }
  return {};
}

std::optional<std::string_view> level_of_policies(std::vector<std::string> policies) {
  if (policies.empty()) return "";
  std::sort(policies.begin(), policies.end());
  for (const Level& known : levels()) {
    if (known.policies == policies) return known.name;
  }
  return std::nullopt;
}

}  // namespace tarn::auth
