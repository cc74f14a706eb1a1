#include "core/auth/resource.h"
#include "core/base/str_cat.h"
#include "core/imports/refs_dump.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/import.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {
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

struct RestoreRefs {
  std::string dump;
  bool force = false;
};

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

http::Response dump_refs(const Context& context, Call& call) {
  return json_response(201, refs_dump_body(imports::dump_refs(context.engine, call.repository())));
}

http::Response restore_refs(const Context& context, Call& call, RestoreRefs given) {
  demand_restore(context, call, given);
  imports::restore_refs(context.engine, call.repository(), given.dump, given.force,
                        call.caller.user.name);
  return empty_response(200);
}
JsonHandler restore_refs() { return json_handler<parse_refs_restore, restore_refs>; }

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
JsonHandler start_restore() { return json_handler<parse_refs_restore, start_restore>; }

http::Response restore_status(const Context& context, Call& call) {
  return task_status(context, call, imports::RefsTask::kRestore);
}

}  // namespace tarn::api
