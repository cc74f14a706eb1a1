#include "core/branch/refs.h"

#include <optional>

#include "core/auth/resource.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/branch/aliases.h"
#include "core/branch/rename.h"
#include "core/imports/refs_dump.h"
#include "core/model/commit.h"
#include "core/versioning/diff.h"
#include "core/versioning/rebase.h"
#include "core/versioning/reset.h"
#include "core/versioning/revert.h"
#include "server/api/call.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/commit.h"
#include "server/api/json/import.h"
#include "server/api/json/merge.h"
#include "server/api/json/ref.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

constexpr size_t kBytesPerTag = 120;

// The commit at which a conditional request expects a ref.

/// The parameter `expect`; absent = any commit. Throws invalid_argument, also if it is empty: a
/// script whose variable is unset must not change the ref wherever it is.
std::optional<CommitId> expected_commit(const Call& call) {
  const auto given = call.query.values("expect");
  if (given.empty()) return std::nullopt;
  const auto commit = given.size() == 1 ? parse_commit_id(given.front()) : std::nullopt;
  if (!commit) {
    throw_invalid(
        "parameter \"expect\" in query has an error: must be a commit id of 64 hex digits");
  }
  return commit;
}

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

http::Response rename_branch(const Context& context, Call& call, json::RenameBranch given) {
  call.require_permission_on_source({call.path("branch")}, given.name);
  const bool may_be_default =
      call.allows(auth::Action::kUpdateRepository, auth::repository_arn(call.path("repository")));
  return json_response(200, json::branch_body(branch::rename_branch(
                                context.engine, repository_of(context, call), call.branch(),
                                {.name = parse_branch_name(given.name),
                                 .may_be_default = may_be_default,
                                 .force = call.flag("force")})));
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

http::Response rebase_branch(const Context& context, Call& call, json::Rebase given) {
  call.require_permission_on_source({given.onto}, call.path("branch"));
  return json_response(200, json::rebase_body(versioning::rebase_branch(
                                context.engine, repository_of(context, call), call.branch(),
                                {.onto = std::move(given.onto),
                                 .strategy = versioning::parse_merge_strategy(given.strategy),
                                 .force = given.force})));
}

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

http::Response list_tags(const Context& context, Call& call) {
  const Page<Tag> page =
      branch::list_tags(context.engine, repository_of(context, call), call.parameter("prefix"),
                        call.parameter("after"), call.amount());
  return json_response(200, json::list_of(page, kBytesPerTag, json::write_tag));
}

http::Response create_tag(const Context& context, Call& call, json::CreateTag given) {
  call.require_permission_on_source({given.ref}, given.id);
  const Tag made = branch::create_tag(context.engine, repository_of(context, call),
                                      parse_new_tag_name(given.id), given.ref, given.force);
  return json_response(201, json::tag_body(made));
}

http::Response get_tag(const Context& context, Call& call) {
  return json_response(200,
                       json::tag_body(branch::get_tag(context.engine, repository_of(context, call),
                                                      parse_tag_name(call.path("tag")))));
}

http::Response delete_tag(const Context& context, Call& call) {
  branch::delete_tag(context.engine, repository_of(context, call), parse_tag_name(call.path("tag")),
                     call.flag("force"));
  return empty_response(204);
}

namespace {

constexpr size_t kBytesPerAlias = 150;
constexpr size_t kBytesPerAliasChange = 400;

AliasName alias_of(const Call& call) { return parse_alias_name(call.path("alias")); }

/// Meaning of the parameter `expect`, which may be empty: any position.
AliasExpectation expectation_of(const Call& call) {
  if (call.parameter("expect").empty()) return {};
  return {.any = false, .commit = expected_commit(call)};
}

}  // namespace

http::Response list_aliases(const Context& context, Call& call) {
  const Page<Alias> page =
      branch::list_aliases(context.engine, repository_of(context, call), call.parameter("prefix"),
                           call.parameter("after"), call.amount());
  return json_response(200, json::list_of(page, kBytesPerAlias, json::write_alias));
}

http::Response get_alias(const Context& context, Call& call) {
  return json_response(200, json::alias_body(branch::get_alias(
                                context.engine, repository_of(context, call), alias_of(call))));
}

http::Response list_alias_changes(const Context& context, Call& call) {
  const Page<AliasChange> page =
      branch::list_alias_changes(context.engine, repository_of(context, call), alias_of(call),
                                 call.parameter("after"), call.amount());
  return json_response(200, json::list_of(page, kBytesPerAliasChange, json::write_alias_change));
}

http::Response set_alias(const Context& context, Call& call, json::SetAlias given) {
  call.require_permission_on_source({given.to}, str_cat("@", call.path("alias")));
  const branch::AliasOutcome outcome =
      branch::set_alias(context.engine, repository_of(context, call),
                        {.name = alias_of(call),
                         .expected = given.expected,
                         .reason = given.reason,
                         .actor = call.caller.user.name},
                        given.to);
  return json_response(200, json::set_alias_body(outcome.alias, outcome.changed));
}

http::Response remove_alias(const Context& context, Call& call) {
  branch::remove_alias(context.engine, repository_of(context, call),
                       {.name = alias_of(call),
                        .expected = expectation_of(call),
                        .reason = std::string(call.parameter("reason")),
                        .actor = call.caller.user.name});
  return empty_response(204);
}

namespace {

using json::Value;
using json::Writer;

struct Part {
  std::string_view member;
  std::string_view prefix;
};
constexpr Part kDumpParts[] = {{"commits_meta_range_id", "commits-"},
                               {"tags_meta_range_id", "tags-"},
                               {"branches_meta_range_id", "branches-"}};

void write_dump(Writer& out, std::string_view dump) {
  out.begin_object();
  for (const Part& part : kDumpParts) out.text(part.member, str_cat(part.prefix, dump));
  out.end_object();
}

/// RefsDump: clients see a dump as three ids.
std::string refs_dump_body(std::string_view dump) {
  Writer out;
  write_dump(out, dump);
  return std::move(out).take();
}

/// RepositoryDumpStatus, RepositoryRestoreStatus.
std::string refs_task_body(const imports::RefsTaskStatus& status) {
  Writer out;
  out.begin_object();
  out.text("id", status.id);
  out.boolean("done", status.done);
  out.text("update_time", to_rfc3339(status.updated));
  if (!status.error.empty()) out.text("error", status.error);
  if (status.dump) {
    out.key("refs");
    write_dump(out, *status.dump);
  }
  out.end_object();
  return std::move(out).take();
}

/// The caller needs permission to read everything in the dump, even one created by another user,
/// and to set its aliases.
void demand_restore(const Context& context, const Call& call, const RestoreRefs& given) {
  const std::string source = imports::dumped_repository(context.engine, given.dump).name.str();
  for (const auth::Action action : {auth::Action::kListTags, auth::Action::kListBranches,
                                    auth::Action::kListCommits, auth::Action::kListObjects}) {
    call.require_permission(action, auth::repository_arn(source));
  }
  call.require_permission_on_all_objects(auth::Action::kReadObject, source);
  for (const AliasName& alias : imports::aliases_of_dump(context.engine, given.dump)) {
    call.require_permission(auth::Action::kSetAlias,
                            auth::alias_arn(call.path("repository"), alias.str()));
  }
}

http::Response task_status(const Context& context, Call& call, imports::RefsTask task) {
  return json_response(
      200, refs_task_body(imports::refs_task_status(context.engine, call.repository(), task,
                                                    call.parameter("task_id"))));
}

}  // namespace

/// RefsRestore. The three ids must belong to one dump.
RestoreRefs parse_refs_restore(const Value& body) {
  RestoreRefs out{.dump = "", .force = body.flag("force")};
  for (const Part& part : kDumpParts) {
    const Value given = body.at(part.member);
    const std::string id = given.text();
    if (!id.starts_with(part.prefix)) given.fail("is no id of a dump");
    const std::string dump = id.substr(part.prefix.size());
    if (!out.dump.empty() && dump != out.dump) given.fail("is of another dump than the others");
    if (dump.empty()) given.fail("is no id of a dump");
    out.dump = dump;
  }
  return out;
}

http::Response dump_refs(const Context& context, Call& call) {
  return json_response(201, refs_dump_body(imports::dump_refs(context.engine, call.repository())));
}

http::Response restore_refs(const Context& context, Call& call, RestoreRefs given) {
  demand_restore(context, call, given);
  imports::restore_refs(context.engine, call.repository(), given.dump, given.force,
                        call.caller.user.name);
  return empty_response(200);
}

http::Response start_dump(const Context& context, Call& call) {
  return json_response(202, json::id_body(imports::start_dump(context.engine, call.repository(),
                                                              call.caller.user.name)));
}

http::Response dump_status(const Context& context, Call& call) {
  return task_status(context, call, imports::RefsTask::kDump);
}

http::Response start_restore(const Context& context, Call& call, RestoreRefs given) {
  demand_restore(context, call, given);
  return json_response(
      202, json::id_body(imports::start_restore(context.engine, call.repository(), given.dump,
                                                given.force, call.caller.user.name)));
}

http::Response restore_status(const Context& context, Call& call) {
  return task_status(context, call, imports::RefsTask::kRestore);
}

}  // namespace tarn::api
