#include "core/auth/resource.h"

#include "core/base/encoding.h"
#include "core/base/str_cat.h"

namespace tarn::auth {
namespace {

constexpr std::string_view kFiles = "arn:lakefs:fs:::";
constexpr std::string_view kRefPart = "/ref/";
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
std::string alias_arn(std::string_view repository, std::string_view alias) {
  return str_cat(kFiles, "repository/", repository, "/alias/", alias);
}
std::string ref_arn(std::string_view repository, std::string_view ref) {
  // Percent-encoded, because a slash would end the ref's segment.
  const bool alias = ref.starts_with('@');
  return str_cat(kFiles, "repository/", repository, kRefPart, alias ? "@" : "",
                 percent_encode(ref.substr(alias ? 1 : 0)));
}
std::string object_arn(std::string_view repository, std::string_view ref, std::string_view key) {
  return ref.empty() ? object_arn(repository, key)
                     : str_cat(ref_arn(repository, ref), "/object/", key);
}
std::string without_ref(std::string_view resource) {
  constexpr std::string_view kRepository = "repository/";
  if (!resource.starts_with(kFiles) || !resource.substr(kFiles.size()).starts_with(kRepository)) {
    return "";
  }
  const size_t name = kFiles.size() + kRepository.size();
  const size_t ref = resource.find('/', name);
  if (ref == std::string_view::npos || !resource.substr(ref).starts_with(kRefPart)) return "";
  const size_t end = resource.find('/', ref + kRefPart.size());
  return str_cat(resource.substr(0, ref),
                 end == std::string_view::npos ? std::string_view() : resource.substr(end));
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
