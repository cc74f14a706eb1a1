#include "core/branch/refs.h"
#include "core/versioning/diff.h"
#include "core/versioning/reset.h"
#include "core/versioning/revert.h"
#include "server/api/handlers/expectation.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/commit.h"
#include "server/api/json/merge.h"
#include "server/api/json/ref.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

constexpr size_t kBytesPerBranch = 120;
constexpr size_t kBytesPerDifference = 120;

versioning::CommitOverrides overrides_of(json::Overrides given) {
  return {.message = std::move(given.message), .metadata = std::move(given.metadata)};
}

}  // namespace

http::Response list_branches(const Context& context, Call& call) {
  const Page<Branch> page =
      branch::list_branches(context.engine, repository_of(context, call), call.parameter("prefix"),
                            call.parameter("after"), call.amount(), call.flag("show_hidden"));
  return json_response(200, json::list_of(page, kBytesPerBranch, json::write_branch));
}

http::Response create_branch(const Context& context, Call& call, json::CreateBranch given) {
  call.require_permission_on_source({given.source}, given.name);
  branch::BranchCreation creation{.name = parse_branch_name(given.name),
                                  .source = given.source,
                                  .hidden = given.hidden,
                                  .force = given.force};
  if (given.expires) creation.expires = given.expires->from(context.engine.clock.now());
  const Branch made = branch::create_branch(context.engine, repository_of(context, call), creation);
  // The only response that is not JSON: clients expect the bare commit id.
  return text_response(201, to_text(made.head));
}
JsonHandler create_branch() { return json_handler<json::parse_create_branch, create_branch>; }

http::Response get_branch(const Context& context, Call& call) {
  return json_response(200, json::branch_body(branch::get_branch(
                                context.engine, repository_of(context, call), call.branch())));
}

http::Response set_branch_expiry(const Context& context, Call& call,
                                 std::optional<json::Deadline> given) {
  std::optional<Instant> expires;
  if (given) expires = given->from(context.engine.clock.now());
  return json_response(200, json::branch_body(branch::set_branch_expiry(
                                context.engine, repository_of(context, call), call.branch(),
                                expires, call.flag("force"))));
}
JsonHandler set_branch_expiry() {
  return json_handler<json::parse_branch_expiry, set_branch_expiry>;
}

http::Response delete_branch(const Context& context, Call& call) {
  branch::delete_branch(context.engine, repository_of(context, call), call.branch(),
                        call.flag("force"),
                        {.head = expected_commit(call), .unused = call.flag("unused")});
  return empty_response(204);
}

http::Response reset_branch(const Context& context, Call& call, json::ResetBranch given) {
  const BranchName branch = call.branch();
  const Repository repository = repository_of(context, call);
  switch (given.kind) {
    case json::ResetBranch::Kind::kAll:
      versioning::reset_branch(context.engine, repository, branch, given.force);
      break;
    case json::ResetBranch::Kind::kPrefix:
      versioning::reset_prefix(context.engine, repository, branch, given.path, given.force);
      break;
    case json::ResetBranch::Kind::kObject:
      versioning::reset_object(context.engine, repository, branch, parse_key(given.path),
                               given.force);
      break;
  }
  return empty_response(204);
}
JsonHandler reset_branch() { return json_handler<json::parse_reset_branch, reset_branch>; }

http::Response hard_reset_branch(const Context& context, Call& call) {
  call.require_permission_on_source({call.parameter("ref")}, call.path("branch"));
  versioning::hard_reset_branch(context.engine, repository_of(context, call), call.branch(),
                                call.parameter("ref"), call.flag("force"));
  return empty_response(204);
}

http::Response revert_branch(const Context& context, Call& call, json::Revert given) {
  call.require_permission_on_source({given.ref}, call.path("branch"));
  versioning::revert_branch(context.engine, repository_of(context, call), call.branch(),
                            {.committer = call.caller.user.committer(),
                             .ref = std::move(given.ref),
                             .parent_number = given.parent_number,
                             .overrides = overrides_of(std::move(given.overrides)),
                             .allow_empty = given.allow_empty,
                             .force = given.force});
  return empty_response(204);
}
JsonHandler revert_branch() { return json_handler<json::parse_revert, revert_branch>; }

http::Response cherry_pick(const Context& context, Call& call, json::CherryPick given) {
  call.require_permission_on_source({given.ref}, call.path("branch"));
  const Commit made =
      versioning::cherry_pick(context.engine, repository_of(context, call), call.branch(),
                              {.committer = call.caller.user.committer(),
                               .ref = std::move(given.ref),
                               .parent_number = given.parent_number,
                               .overrides = overrides_of(std::move(given.overrides)),
                               .force = given.force});
  return json_response(201, json::commit_body(made));
}
JsonHandler cherry_pick() { return json_handler<json::parse_cherry_pick, cherry_pick>; }

http::Response diff_branch(const Context& context, Call& call) {
  const Page<Change> page =
      versioning::diff_branch(context.engine, call.repository(), call.branch(),
                              {.prefix = std::string(call.parameter("prefix")),
                               .after = std::string(call.parameter("after")),
                               .delimiter = std::string(call.parameter("delimiter")),
                               .limit = call.amount()});
  return json_response(
      200, json::list_of(page, kBytesPerDifference, [](json::Writer& out, const Change& change) {
        json::write_change(out, change, false);
      }));
}

}  // namespace tarn::api
