#include "server/api/access.h"

#include "core/auth/resource.h"
#include "core/objects/search_scope.h"
#include "server/api/call.h"
#include "server/api/json/object.h"

namespace tarn::api {
namespace {

using auth::alias_arn;
using auth::branch_arn;
using auth::namespace_arn;
using auth::object_arn;
using auth::repository_arn;
using auth::tag_arn;

const std::string& repository(const Call& call) { return call.path("repository"); }

std::string body_text(const Call& call, std::string_view name) {
  return call.body->root().at(name).text();
}

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

std::vector<std::string> import_fields(const Call& call, std::string_view field,
                                       std::string (*arn)(const Call&, std::string_view)) {
  std::vector<std::string> out;
  for (const json::Value& path : call.body->root().at("paths").items()) {
    out.push_back(arn(call, path.at(field).text()));
  }
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
  const auto searched = versioning::searched_repositories(call.query.values("repository"));
  if (searched.globs.empty()) return {};
  return on_everything(call);
}
std::vector<std::string> on_branch_globs(const Call& call) {
  std::vector<std::string> out;
  if (versioning::searched_refs(call.query.values("ref")).globs.empty()) return out;
  for (const std::string& name :
       versioning::searched_repositories(call.query.values("repository")).names) {
    out.push_back(repository_arn(name));
  }
  return out;
}
std::vector<std::string> on_named_refs(const Call& call) {
  const auto refs = versioning::searched_refs(call.query.values("ref"));
  std::vector<std::string> out;
  for (const std::string& name :
       versioning::searched_repositories(call.query.values("repository")).names) {
    for (const std::string& ref : refs.names) out.push_back(auth::ref_arn(name, ref));
  }
  return out;
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
  return {repository_arn(body_text(call, "name"))};
}
std::vector<std::string> on_new_namespace(const Call& call) {
  return {namespace_arn(body_text(call, "storage_namespace"))};
}
std::vector<std::string> on_new_branch(const Call& call) {
  return {branch_arn(repository(call), body_text(call, "name"))};
}
std::vector<std::string> on_new_tag(const Call& call) {
  return {tag_arn(repository(call), body_text(call, "id"))};
}
std::vector<std::string> on_new_user(const Call& call) {
  return {auth::user_arn(body_text(call, "id"))};
}
std::vector<std::string> on_new_group(const Call& call) {
  return {auth::group_arn(body_text(call, "id"))};
}
std::vector<std::string> on_new_policy(const Call& call) {
  return {auth::policy_arn(body_text(call, "id"))};
}
std::vector<std::string> on_listed_objects(const Call& call) {
  std::vector<std::string> out;
  for (const std::string& path : call.body->root().at("paths").texts()) {
    out.push_back(object_at(call, path));
  }
  return out;
}
std::vector<std::string> on_archived_objects(const Call& call) {
  std::vector<std::string> out;
  for (const std::string& path : json::parse_archive_paths(call.body->root()).paths) {
    out.push_back(object_at(call, path));
  }
  return out;
}
std::vector<std::string> on_source_object(const Call& call) {
  const std::string ref = call.body->root().text_or_empty("src_ref");
  return {object_arn(repository(call), ref.empty() ? ref_of(call) : std::string_view(ref),
                     body_text(call, "src_path"))};
}
std::vector<std::string> on_part_source(const Call& call) {
  const json::Value source = call.body->root().at("copy_source");
  return {object_arn(source.at("repository").text(), source.at("ref").text(),
                     source.at("path").text())};
}
std::vector<std::string> on_moved_source(const Call& call) {
  return {object_at(call, json::parse_move_objects(call.body->root()).source)};
}
std::vector<std::string> on_moved_destination(const Call& call) {
  return {object_at(call, json::parse_move_objects(call.body->root()).destination)};
}
std::vector<std::string> on_import_sources(const Call& call) {
  return import_fields(call, "path",
                       [](const Call&, std::string_view path) { return namespace_arn(path); });
}
std::vector<std::string> on_import_destinations(const Call& call) {
  return import_fields(call, "destination",
                       [](const Call& c, std::string_view path) { return object_at(c, path); });
}

}  // namespace tarn::api
