#include <algorithm>

#include "core/auth/resource.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/direct_access.h"
#include "core/branch/refs.h"
#include "core/versioning/commit.h"
#include "core/versioning/log.h"
#include "core/versioning/metadata_files.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/commit.h"
#include "server/api/json/object.h"
#include "server/api/json/writer.h"
#include "server/api/object_body.h"
#include "server/api/presigner.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

constexpr size_t kBytesPerCommit = 480;

/// The values of a parameter without empty ones, which clients send for filters they do not use.
std::vector<std::string> given_values(const http::Query& query, std::string_view name) {
  std::vector<std::string> values = query.values(name);
  std::erase(values, std::string());
  return values;
}

/// "key" or "key=value".
std::vector<std::pair<std::string, std::optional<std::string>>> metadata_filter(
    const std::vector<std::string>& given) {
  std::vector<std::pair<std::string, std::optional<std::string>>> out;
  for (const std::string& text : given) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
      out.emplace_back(text, std::nullopt);
    } else {
      out.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return out;
}

versioning::LogOptions log_options(const Call& call) {
  return {.after = std::string(call.parameter("after")),
          .limit = call.amount(),
          .stop_at_limit = call.flag("limit"),
          .first_parent = call.flag("first_parent"),
          .since = parse_rfc3339(call.parameter("since")),
          .stop_at = std::string(call.parameter("stop_at")),
          .objects = given_values(call.query, "objects"),
          .prefixes = given_values(call.query, "prefixes"),
          .without = std::string(call.parameter("without")),
          .until = parse_rfc3339(call.parameter("until")),
          .committer = std::string(call.parameter("committer")),
          .message = std::string(call.parameter("message")),
          .metadata = metadata_filter(given_values(call.query, "metadata"))};
}

}  // namespace

http::Response commit(const Context& context, Call& call, json::CreateCommit given) {
  std::optional<Hash128> source_tree;
  if (const std::string_view id = call.parameter("source_metarange"); !id.empty()) {
    source_tree = json::parse_metarange_id(id);
    if (!source_tree) throw_invalid("parameter \"source_metarange\" in query: is no metarange id");
    // The tree may come from any ref.
    call.require_permission_on_source({"", /*all_that_begin=*/true}, call.path("branch"));
  }
  // A caller that chooses the parents can remove commits from the branch's history.
  if (given.parents) {
    call.require_permission(auth::Action::kRevertBranch,
                            auth::branch_arn(call.path("repository"), call.path("branch")));
    for (const std::string& parent : *given.parents)
      call.require_permission_on_source({parent}, call.path("branch"));
  }
  // The answer tells whether an object has these bytes.
  for (const auto& [path, digest] : given.expected.objects) {
    call.require_permission(auth::Action::kReadObject,
                            auth::object_arn(call.path("repository"), call.path("branch"), path));
  }
  const Commit made =
      versioning::commit_branch(context.engine, repository_of(context, call), call.branch(),
                                {.committer = call.caller.user.committer(),
                                 .message = std::move(given.message),
                                 .metadata = std::move(given.metadata),
                                 .date = given.date,
                                 .allow_empty = given.allow_empty,
                                 .force = given.force,
                                 .source_tree = source_tree,
                                 .parents = std::move(given.parents),
                                 .expected = std::move(given.expected)});
  return json_response(201, json::commit_body(made));
}

http::Response get_commit(const Context& context, Call& call) {
  const std::string& ref = call.path("commitId");
  // Text that cannot be a ref is reported as an unknown commit here; other calls report it as
  // invalid.
  if (ref.find(' ') != std::string::npos)
    throw Error(ErrorCode::kNotFound, reason::kRefNotFound, "commit not found");
  const Commit found = branch::resolve_commit(context.engine, repository_of(context, call), ref);
  return json_response(200, json::commit_body(found));
}

http::Response log_commits(const Context& context, Call& call) {
  const Page<Commit> page = versioning::log_commits(context.engine, repository_of(context, call),
                                                    call.path("ref"), log_options(call));
  return json_response(200, json::list_of(page, kBytesPerCommit, json::write_commit));
}

http::Response record_commit(const Context& context, Call& call, json::CommitRecord given) {
  versioning::record_commit(context.engine, repository_of(context, call), std::move(given.commit),
                            given.force);
  return empty_response(204);
}

namespace {

using versioning::MetadataFile;
using versioning::SstableKind;

/// Requires permission to list and read everything: the files name every path of a commit, and the
/// same range occurs in commits of many refs. The route has checked the listing of the repository
/// as a whole.
void demand_all_objects(const Call& call) {
  const std::string& repository = call.path("repository");
  call.require_permission_on_all_objects(auth::Action::kReadObject, repository);
  if (call.caller.permissions->decide_on_all_objects(auth::Action::kListObjects, repository,
                                                     call.request.peer) ==
      auth::Permissions::Decision::kDenied) {
    call.require_permission_on_all_objects(auth::Action::kListObjects, repository);
  }
}

MetadataFile find_file(const Context& context, const Call& call, SstableKind kind,
                       std::string_view parameter) {
  const std::string& id = call.path(parameter);
  const auto hash = json::parse_metarange_id(id);
  if (!hash) {
    const bool range = kind == SstableKind::kRange;
    throw Error(ErrorCode::kNotFound, range ? "range_not_found" : "metarange_not_found",
                str_cat(range ? "range" : "metarange", ": \"", id, "\" is no id: not found"));
  }
  return versioning::metadata_file(context.engine, repository_of(context, call), kind, *hash);
}

http::Response location_answer(const Context& context, const Call& call, SstableKind kind,
                               std::string_view parameter) {
  demand_all_objects(call);
  const MetadataFile file = find_file(context, call, kind, parameter);
  http::Response response = json_response(200, json::storage_uri_body(file.location));
  response.headers.add("Location", file.location);
  return response;
}

}  // namespace

http::Response get_meta_range(const Context& context, Call& call) {
  return location_answer(context, call, SstableKind::kMetarange, "meta_range");
}

http::Response get_range(const Context& context, Call& call) {
  return location_answer(context, call, SstableKind::kRange, "range");
}

http::Response get_metadata_object(const Context& context, Call& call) {
  demand_all_objects(call);
  const std::string& type = call.path("type");
  if (type != "range" && type != "meta_range") {
    throw_invalid(R"(parameter "type" in path: must be "range" or "meta_range")");
  }
  const auto presigner = Presigner::asked_for(context, call);
  const MetadataFile file = find_file(
      context, call, type == "range" ? SstableKind::kRange : SstableKind::kMetarange, "object_id");
  blob::DirectAccess* direct = file.at.store->direct();
  if (presigner && direct != nullptr) {
    http::Response response = empty_response(302);
    response.headers.add("Location", direct->url_to_read({.key = file.at.key}, presigner->terms()));
    return response;
  }
  const blob::ByteRange all{.offset = 0, .length = file.size_bytes};
  auto reader = file.at.store->open(file.at.key, all);
  if (!reader) {
    throw Error(ErrorCode::kUnavailable, reason::kBytesMissing, "reading metadata: it was removed");
  }
  http::Response response;
  response.headers.add("Content-Type", "application/octet-stream");
  response.headers.add("Content-Disposition", "attachment");
  response.headers.add("Cache-Control", "no-store");
  send_object(std::move(reader), all, response);
  return response;
}

}  // namespace tarn::api
