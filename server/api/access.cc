#include "server/api/access.h"

#include <algorithm>

#include "core/auth/resource.h"
#include "core/objects/search_scope.h"
#include "server/api/call.h"
#include "server/api/json/account.h"
#include "server/api/json/import.h"
#include "server/api/json/object.h"
#include "server/api/json/ref.h"
#include "server/api/json/repository.h"
#include "server/api/route.h"

namespace tarn::api {
namespace {

using auth::alias_arn;
using auth::branch_arn;
using auth::namespace_arn;
using auth::object_arn;
using auth::repository_arn;
using auth::tag_arn;

const std::string& repository(const Call& call) { return call.path("repository"); }

/// The ref or branch that the path names.
std::string_view ref_of(const Call& call) {
  for (size_t i = 0; i < call.path_values.count; ++i) {
    const std::string_view name = call.path_values.names[i];
    if (name == "ref" || name == "branch") return call.path_values.values[i];
  }
  return {};
}

std::string object_at(const Call& call, std::string_view path) {
  return object_arn(repository(call), ref_of(call), path);
}

std::vector<std::string> objects_at(const Call& call, const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const std::string& path : paths) out.push_back(object_at(call, path));
  return out;
}

}  // namespace

std::vector<std::string> on_everything(const Call&) { return {std::string(auth::kEverything)}; }
std::vector<std::string> on_repository(const Call& call) {
  return {repository_arn(repository(call))};
}
std::vector<std::string> on_listed_ref(const Call& call) {
  return {auth::ref_arn(repository(call), ref_of(call))};
}
std::vector<std::string> on_listed_branch(const Call& call) {
  return {auth::ref_arn(repository(call), call.path("branch"))};
}
std::vector<std::string> on_repository_globs(const Call& call) {
  const auto searched = objects::searched_repositories(call.query.values("repository"));
  if (searched.globs.empty()) return {};
  return on_everything(call);
}
std::vector<std::string> on_branch_globs(const Call& call) {
  std::vector<std::string> out;
  if (objects::searched_refs(call.query.values("ref")).globs.empty()) return out;
  for (const std::string& name :
       objects::searched_repositories(call.query.values("repository")).names) {
    out.push_back(repository_arn(name));
  }
  return out;
}
std::vector<std::string> on_named_refs(const Call& call) {
  const auto refs = objects::searched_refs(call.query.values("ref"));
  std::vector<std::string> out;
  for (const std::string& name :
       objects::searched_repositories(call.query.values("repository")).names) {
    for (const std::string& ref : refs.names) out.push_back(auth::ref_arn(name, ref));
  }
  return out;
}
std::vector<std::string> on_measured_ref(const Call& call) {
  const std::string_view ref = call.parameter("ref");
  // Exact sizes compare the ref with all others of the repository.
  if (ref.empty() || call.flag("exact")) return on_repository(call);
  return {auth::ref_arn(repository(call), ref)};
}
std::vector<std::string> on_compared_refs(const Call& call) {
  return {auth::ref_arn(repository(call), call.path("leftRef")),
          auth::ref_arn(repository(call), call.path("rightRef"))};
}
std::vector<std::string> on_merged_refs(const Call& call) {
  return {auth::ref_arn(repository(call), call.path("sourceRef")),
          auth::ref_arn(repository(call), call.path("destinationBranch"))};
}
std::vector<std::string> on_branch(const Call& call) {
  return {branch_arn(repository(call), call.path("branch"))};
}
std::vector<std::string> on_destination_branch(const Call& call) {
  return {branch_arn(repository(call), call.path("destinationBranch"))};
}
std::vector<std::string> on_ref(const Call& call) {
  return {branch_arn(repository(call), call.path("ref"))};
}
std::vector<std::string> on_tag(const Call& call) {
  return {tag_arn(repository(call), call.path("tag"))};
}
std::vector<std::string> on_alias(const Call& call) {
  return {alias_arn(repository(call), call.path("alias"))};
}
std::vector<std::string> on_object(const Call& call) {
  return {object_at(call, call.parameter("path"))};
}
std::vector<std::string> on_destination_object(const Call& call) {
  return {object_at(call, call.parameter("dest_path"))};
}
std::vector<std::string> on_user(const Call& call) { return {auth::user_arn(call.path("userId"))}; }
std::vector<std::string> on_checked_user(const Call& call) {
  const std::string& user = call.body_as<json::PermissionChecks>().user;
  if (user.empty() || user == call.caller.user.name) return {};
  return {auth::user_arn(user)};
}
std::vector<std::string> on_group(const Call& call) {
  return {auth::group_arn(call.path("groupId"))};
}
std::vector<std::string> on_policy(const Call& call) {
  return {auth::policy_arn(call.path("policyId"))};
}
std::vector<std::string> on_external_principal(const Call& call) {
  return {auth::external_principal_arn(call.parameter("principalId"))};
}
std::vector<std::string> on_new_repository(const Call& call) {
  return {repository_arn(call.body_as<json::CreateRepository>().name.str())};
}
std::vector<std::string> on_new_namespace(const Call& call) {
  return {namespace_arn(call.body_as<json::CreateRepository>().storage_namespace)};
}
std::vector<std::string> on_new_branch(const Call& call) {
  return {branch_arn(repository(call), call.body_as<json::CreateBranch>().name)};
}
std::vector<std::string> on_renamed_branch(const Call& call) {
  return {branch_arn(repository(call), call.body_as<json::RenameBranch>().name)};
}
std::vector<std::string> on_new_tag(const Call& call) {
  return {tag_arn(repository(call), call.body_as<json::CreateTag>().id)};
}
std::vector<std::string> on_new_user(const Call& call) {
  return {auth::user_arn(call.body_as<json::CreateUser>().id)};
}
std::vector<std::string> on_new_group(const Call& call) {
  return {auth::group_arn(call.body_as<json::CreateGroup>().id)};
}
std::vector<std::string> on_new_policy(const Call& call) {
  return {auth::policy_arn(call.body_as<auth::Policy>().name)};
}
std::vector<std::string> on_first_deletable(const Call& call) {
  std::vector<std::string> listed = objects_at(call, call.body_as<std::vector<std::string>>());
  const auto first = std::find_if(listed.begin(), listed.end(), [&](const std::string& object) {
    return call.allows(auth::Action::kDeleteObject, object);
  });
  if (first != listed.end()) return {*first};
  if (!listed.empty()) listed.resize(1);
  return listed;
}
std::vector<std::string> on_archived_objects(const Call& call) {
  return objects_at(call, call.body_as<json::ArchivePaths>().paths);
}
std::vector<std::string> on_source_object(const Call& call) {
  const auto& copy = call.body_as<json::CopyObject>();
  const std::string_view ref = copy.src_ref.empty() ? ref_of(call) : copy.src_ref;
  return {object_arn(repository(call), ref, copy.src_path)};
}
std::vector<std::string> on_part_source(const Call& call) {
  const auto& copy = call.body_as<json::CopyPart>();
  return {object_arn(copy.repository, copy.ref, copy.path)};
}
std::vector<std::string> on_moved_source(const Call& call) {
  return {object_at(call, call.body_as<json::MoveObjects>().source)};
}
std::vector<std::string> on_moved_destination(const Call& call) {
  return {object_at(call, call.body_as<json::MoveObjects>().destination)};
}
std::vector<std::string> on_import_sources(const Call& call) {
  std::vector<std::string> out;
  for (const auto& path : call.body_as<json::StartImport>().paths) {
    out.push_back(namespace_arn(path.url));
  }
  return out;
}
std::vector<std::string> on_import_destinations(const Call& call) {
  std::vector<std::string> out;
  for (const auto& path : call.body_as<json::StartImport>().paths) {
    out.push_back(object_at(call, path.destination));
  }
  return out;
}

std::vector<std::string> written_paths(const Call& call) {
  std::vector<std::string> out;
  for (const RequiredPermission& required : call.route.access.permissions()) {
    if (required.action != auth::Action::kWriteObject) continue;
    const std::string above = object_at(call, "");
    for (const std::string& resource : required.on(call)) {
      if (resource.size() > above.size() && resource.starts_with(above))
        out.push_back(resource.substr(above.size()));
    }
  }
  return out;
}

}  // namespace tarn::api
