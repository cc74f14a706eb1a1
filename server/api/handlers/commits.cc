#include <algorithm>

#include "core/auth/resource.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/branch/refs.h"
#include "core/versioning/commit.h"
#include "core/versioning/log.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/commit.h"
#include "server/api/json/writer.h"
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
  const Commit made =
      versioning::commit_branch(context.engine, repository_of(context, call), call.branch(),
                                {.committer = call.caller.user.committer(),
                                 .message = std::move(given.message),
                                 .metadata = std::move(given.metadata),
                                 .date = given.date,
                                 .allow_empty = given.allow_empty,
                                 .force = given.force,
                                 .source_tree = source_tree,
                                 .parents = std::move(given.parents)});
  return json_response(201, json::commit_body(made));
}
JsonHandler commit() { return json_handler<json::parse_create_commit, commit>; }

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
JsonHandler record_commit() { return json_handler<json::parse_commit_record, record_commit>; }

}  // namespace tarn::api
