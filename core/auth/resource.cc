#include "core/auth/resource.h"

#include "core/base/str_cat.h"

namespace tarn::auth {
namespace {

constexpr std::string_view kFiles = "arn:lakefs:fs:::";
constexpr std::string_view kAccounts = "arn:lakefs:auth:::";

}  // namespace

std::string repository_arn(std::string_view repository) {
  return str_cat(kFiles, "repository/", repository);
}
std::string branch_arn(std::string_view repository, std::string_view branch) {
  return str_cat(kFiles, "repository/", repository, "/branch/", branch);
}
std::string tag_arn(std::string_view repository, std::string_view tag) {
  return str_cat(kFiles, "repository/", repository, "/tag/", tag);
}
std::string object_arn(std::string_view repository, std::string_view key) {
  return str_cat(kFiles, "repository/", repository, "/object/", key);
}
std::string namespace_arn(std::string_view storage_namespace) {
  return str_cat(kFiles, "namespace/", storage_namespace);
}
std::string user_arn(std::string_view user) { return str_cat(kAccounts, "user/", user); }
std::string group_arn(std::string_view group) { return str_cat(kAccounts, "group/", group); }
std::string policy_arn(std::string_view policy) { return str_cat(kAccounts, "policy/", policy); }
std::string external_principal_arn(std::string_view principal) {
  return str_cat(kAccounts, "externalPrincipal/", principal);
}

}  // namespace tarn::auth
