#include "core/versioning/pull_requests.h"

#include "core/auth/resource.h"
#include "server/api/handlers/handlers.h"
#include "server/api/handlers/merge_request.h"
#include "server/api/json/merge.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

constexpr size_t kBytesPerPull = 400;
constexpr size_t kBytesPerApproval = 200;

std::string pull_request_id(const Call& call) {
  return parse_pull_request_id(call.path("pull_request"));
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
JsonHandler create_pull_request() {
  return json_handler<json::parse_create_pull_request, create_pull_request>;
}

http::Response get_pull_request(const Context& context, Call& call) {
  return json_response(200,
                       json::pull_request_body(versioning::get_pull_request(
                           context.engine, repository_of(context, call), pull_request_id(call))));
}

http::Response update_pull_request(const Context& context, Call& call,
                                   json::UpdatePullRequest given) {
  versioning::update_pull_request(context.engine, repository_of(context, call),
                                  pull_request_id(call),
                                  {.title = std::move(given.title),
                                   .description = std::move(given.description),
                                   .status = given.status});
  return empty_response(204);
}
JsonHandler update_pull_request() {
  return json_handler<json::parse_update_pull_request, update_pull_request>;
}

http::Response merge_pull_request(const Context& context, Call& call, json::Merge given) {
  const std::string id = pull_request_id(call);
  const Repository repository = repository_of(context, call);
  const PullRequest pull = versioning::get_pull_request(context.engine, repository, id);
  // The branch is not in the path; this merge needs the same permission as a direct one.
  call.require_permission(auth::Action::kCreateCommit,
                          auth::branch_arn(call.path("repository"), pull.destination.str()));
  call.require_permission_on_source({pull.source.str()}, pull.destination.str());
  const Commit made = versioning::merge_pull_request(context.engine, repository, pull,
                                                     merge_request_of(call, std::move(given)));
  return json_response(200, json::merge_result_body(made.id));
}
JsonHandler merge_pull_request() { return json_handler<json::parse_merge, merge_pull_request>; }

http::Response list_approvals(const Context& context, Call& call) {
  const Page<Approval> page = versioning::list_approvals(
      context.engine, repository_of(context, call), pull_request_id(call), call.page());
  return json_response(200, json::list_of(page, kBytesPerApproval, json::write_approval));
}

http::Response approve_pull_request(const Context& context, Call& call,
                                    std::optional<CommitId> expected) {
  const Approval made =
      versioning::approve_pull_request(context.engine, repository_of(context, call),
                                       pull_request_id(call), call.caller.user.name, expected);
  return json_response(201, json::approval_body(made));
}
JsonHandler approve_pull_request() {
  return json_handler<json::parse_approve, approve_pull_request>;
}

http::Response withdraw_approval(const Context& context, Call& call) {
  versioning::withdraw_approval(context.engine, repository_of(context, call), pull_request_id(call),
                                call.caller.user.name);
  return empty_response(204);
}

}  // namespace tarn::api
