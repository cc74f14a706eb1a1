#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/versioning/diff.h"
#include "core/versioning/diff_summary.h"
#include "core/versioning/merge.h"
#include "server/api/handlers/handlers.h"
#include "server/api/handlers/merge_request.h"
#include "server/api/json/merge.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"
#include "server/api/route.h"

namespace tarn::api {
namespace {

constexpr size_t kBytesPerChange = 120;
constexpr size_t kBytesPerConflict = 480;

/// The URL of the paged list of all conflicts of the merge.
std::string conflicts_url(const Call& call) {
  return str_cat(kBasePath, "/repositories/", percent_encode(call.path("repository")), "/refs/",
                 percent_encode(call.path("sourceRef")), "/merge/",
                 percent_encode(call.path("destinationBranch")), "/conflicts");
}

}  // namespace

http::Response diff_refs(const Context& context, Call& call) {
  const bool two_dot = call.parameter("type") == "two_dot";
  const Page<Change> page = versioning::diff_refs(
      context.engine, repository_of(context, call), call.path("leftRef"), call.path("rightRef"),
      two_dot ? versioning::DiffKind::kTwoDot : versioning::DiffKind::kThreeDot,
      {.prefix = std::string(call.parameter("prefix")),
       .after = std::string(call.parameter("after")),
       .delimiter = std::string(call.parameter("delimiter")),
       .limit = call.amount()});
  const bool with_right = call.flag("include_right_stats");
  return json_response(
      200, json::list_of(page, kBytesPerChange, [&](json::Writer& out, const Change& change) {
        json::write_change(out, change, with_right);
      }));
}

http::Response summarise_diff(const Context& context, Call& call) {
  const bool two_dot = call.parameter("type") == "two_dot";
  return json_response(
      200,
      json::diff_summary_body(versioning::summarise_diff(
          context.engine, repository_of(context, call), call.path("leftRef"), call.path("rightRef"),
          two_dot ? versioning::DiffKind::kTwoDot : versioning::DiffKind::kThreeDot,
          std::string(call.parameter("prefix")), std::string(call.parameter("delimiter")))));
}

http::Response merge_into_branch(const Context& context, Call& call, json::Merge given) {
  call.require_permission_on_source({call.path("sourceRef")}, call.path("destinationBranch"));
  const auto outcome = versioning::merge_into(
      context.engine, repository_of(context, call), call.path("sourceRef"),
      parse_branch_name(call.path("destinationBranch")), merge_request_of(call, std::move(given)));
  if (const auto* made = std::get_if<Commit>(&outcome)) {
    return json_response(200, json::merge_result_body(made->id));
  }
  const auto& conflicts = std::get<versioning::MergeConflicts>(outcome);
  return json_response(409, json::merge_conflict_body({.conflicts = conflicts,
                                                       .all = conflicts_url(call),
                                                       .request_id = call.request.id}));
}
JsonHandler merge_into_branch() { return json_handler<json::parse_merge, merge_into_branch>; }

http::Response list_conflicts(const Context& context, Call& call) {
  const Page<MergeConflict> page = versioning::list_conflicts(
      context.engine, repository_of(context, call), call.path("sourceRef"),
      parse_branch_name(call.path("destinationBranch")),
      {.prefix = std::string(call.parameter("prefix")),
       .after = std::string(call.parameter("after")),
       .limit = call.amount()});
  return json_response(200, json::list_of(page, kBytesPerConflict, json::write_conflict));
}

http::Response find_merge_base(const Context& context, Call& call) {
  const versioning::MergeBase found =
      versioning::find_merge_base(context.engine, repository_of(context, call),
                                  call.path("sourceRef"), call.path("destinationBranch"));
  return json_response(
      200, json::merge_base_body(
               {.source = found.source, .destination = found.destination, .base = found.base}));
}

}  // namespace tarn::api
