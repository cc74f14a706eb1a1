#include "core/auth/resource.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/versioning/diff.h"
#include "core/versioning/diff_summary.h"
#include "core/versioning/merge.h"
#include "core/versioning/pull_comments.h"
#include "core/versioning/pull_requests.h"
#include "server/api/call.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/merge.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"
#include "server/api/route.h"

namespace tarn::api {
namespace {

// The parameters of a merge, for the operations that merge.

/// Combines the body and the caller. Throws invalid_argument (the strategy).
versioning::MergeRequest merge_request_of(const Call& call, json::Merge given) {
  return {.committer = call.caller.user.committer(),
          .message = std::move(given.message),
          .metadata = std::move(given.metadata),
          .strategy = versioning::parse_merge_strategy(given.strategy),
          .resolutions = std::move(given.resolutions),
          .paths = std::move(given.paths),
          .force = given.force,
          .allow_empty = given.allow_empty,
          .squash = given.squash,
          .allow_dirty = given.allow_dirty};
}

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

namespace {

constexpr size_t kBytesPerPull = 400;
constexpr size_t kBytesPerApproval = 200;

std::string pull_request_id(const Context& context, const Repository& repository,
                            const Call& call) {
  return versioning::find_pull_request_id(context.engine, repository, call.path("pull_request"));
}

int32_t comment_id(const Call& call) {
  const auto id = parse_pull_request_number(call.path("comment"));
  if (!id) throw_invalid("argument comment: must be the id of a comment, such as 3");
  return *id;
}

PullRequestFilter filter_of(std::string_view status) {
  if (status == "open") return PullRequestFilter::kOpen;
  if (status == "closed") return PullRequestFilter::kNotOpen;
  return PullRequestFilter::kAll;
}

}  // namespace

http::Response list_pull_requests(const Context& context, Call& call) {
  const Page<PullRequest> page =
      versioning::list_pull_requests(context.engine, repository_of(context, call),
                                     filter_of(call.parameter("status")), call.page());
  return json_response(200, json::list_of(page, kBytesPerPull, json::write_pull_request));
}

http::Response create_pull_request(const Context& context, Call& call,
                                   json::CreatePullRequest given) {
  const PullRequest made =
      versioning::create_pull_request(context.engine, repository_of(context, call),
                                      {.title = std::move(given.title),
                                       .description = std::move(given.description),
                                       .author = call.caller.user.name,
                                       .source = parse_branch_name(given.source),
                                       .destination = parse_branch_name(given.destination)});
  return json_response(201, json::new_pull_request_body(made));
}

http::Response get_pull_request(const Context& context, Call& call) {
  const Repository repository = repository_of(context, call);
  return json_response(
      200, json::pull_request_body(versioning::get_pull_request(
               context.engine, repository, pull_request_id(context, repository, call))));
}

http::Response update_pull_request(const Context& context, Call& call,
                                   json::UpdatePullRequest given) {
  const Repository repository = repository_of(context, call);
  versioning::update_pull_request(context.engine, repository,
                                  pull_request_id(context, repository, call),
                                  {.title = std::move(given.title),
                                   .description = std::move(given.description),
                                   .status = given.status});
  return empty_response(204);
}

http::Response merge_pull_request(const Context& context, Call& call, json::Merge given) {
  const Repository repository = repository_of(context, call);
  const std::string id = pull_request_id(context, repository, call);
  const PullRequest pull = versioning::get_pull_request(context.engine, repository, id);
  // The branch is not in the path; this merge needs the same permission as a direct one.
  call.require_permission(auth::Action::kCreateCommit,
                          auth::branch_arn(call.path("repository"), pull.destination.str()));
  call.require_permission_on_source({pull.source.str()}, pull.destination.str());
  const bool delete_source = given.delete_source;
  if (delete_source) {
    call.require_permission(auth::Action::kDeleteBranch,
                            auth::branch_arn(call.path("repository"), pull.source.str()));
  }
  const Commit made = versioning::merge_pull_request(context.engine, repository, pull,
                                                     merge_request_of(call, std::move(given)));
  if (!delete_source) return json_response(200, json::merge_result_body(made.id));
  // It is merged, whatever becomes of the branch.
  std::string kept;
  try {
    versioning::delete_merged_source(context.engine, repository, id);
  } catch (const Error& error) {
    kept = error.message();
  }
  return json_response(200, json::merge_result_body(made.id, kept));
}

http::Response list_approvals(const Context& context, Call& call) {
  const Repository repository = repository_of(context, call);
  const Page<Approval> page = versioning::list_approvals(
      context.engine, repository, pull_request_id(context, repository, call), call.page());
  return json_response(200, json::list_of(page, kBytesPerApproval, json::write_approval));
}

http::Response approve_pull_request(const Context& context, Call& call, CommitId reviewed) {
  const Repository repository = repository_of(context, call);
  const Approval made = versioning::approve_pull_request(context.engine, repository,
                                                         pull_request_id(context, repository, call),
                                                         call.caller.user.name, reviewed);
  return json_response(201, json::approval_body(made));
}

http::Response withdraw_approval(const Context& context, Call& call) {
  const Repository repository = repository_of(context, call);
  versioning::withdraw_approval(context.engine, repository,
                                pull_request_id(context, repository, call), call.caller.user.name);
  return empty_response(204);
}

http::Response list_reviewers(const Context& context, Call& call) {
  const Repository repository = repository_of(context, call);
  const Page<Reviewer> page = versioning::list_reviewers(
      context.engine, repository, pull_request_id(context, repository, call), call.page());
  return json_response(200, json::list_of(page, kBytesPerApproval, json::write_reviewer));
}

http::Response ask_reviewers(const Context& context, Call& call, std::vector<std::string> users) {
  const Repository repository = repository_of(context, call);
  versioning::ask_reviewers(context.engine, repository, pull_request_id(context, repository, call),
                            users, call.caller.user.name);
  return empty_response(204);
}

http::Response review_pull_request(const Context& context, Call& call, json::Reviewing given) {
  const Repository repository = repository_of(context, call);
  const std::string& user = call.caller.user.name;
  const Review made = versioning::review_pull_request(context.engine, repository,
                                                      pull_request_id(context, repository, call),
                                                      user, given.verdict, given.commit);
  return json_response(201, json::review_body(made, user));
}

http::Response withdraw_review(const Context& context, Call& call) {
  const Repository repository = repository_of(context, call);
  versioning::withdraw_review(context.engine, repository,
                              pull_request_id(context, repository, call), call.caller.user.name);
  return empty_response(204);
}

http::Response list_comments(const Context& context, Call& call) {
  const Repository repository = repository_of(context, call);
  const Page<PullComment> page = versioning::list_pull_comments(
      context.engine, repository, pull_request_id(context, repository, call), call.page());
  return json_response(200, json::list_of(page, kBytesPerPull, json::write_comment));
}

http::Response create_comment(const Context& context, Call& call, PullComment given) {
  const Repository repository = repository_of(context, call);
  given.author = call.caller.user.name;
  const PullComment made = versioning::create_pull_comment(
      context.engine, repository, pull_request_id(context, repository, call), std::move(given));
  return json_response(201, json::comment_body(made));
}

http::Response update_comment(const Context& context, Call& call, json::UpdateComment given) {
  const Repository repository = repository_of(context, call);
  const std::string pull = pull_request_id(context, repository, call);
  const std::string& user = call.caller.user.name;
  if (given.body) {
    versioning::edit_pull_comment(context.engine, repository, pull, comment_id(call), user,
                                  *given.body);
  } else {
    versioning::resolve_pull_thread(context.engine, repository, pull, comment_id(call), user,
                                    *given.resolved);
  }
  return empty_response(204);
}

http::Response delete_comment(const Context& context, Call& call) {
  const Repository repository = repository_of(context, call);
  versioning::delete_pull_comment(context.engine, repository,
                                  pull_request_id(context, repository, call), comment_id(call),
                                  call.caller.user.name);
  return empty_response(204);
}

}  // namespace tarn::api
