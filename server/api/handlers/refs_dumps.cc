#include "core/auth/resource.h"
#include "core/import/refs_dump.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/import.h"
#include "server/api/json/refs_dump.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

/// The caller must be allowed to read all of what was dumped, whoever dumped it, and to set its
/// aliases.
void demand_restore(const Context& context, const Call& call, const json::RestoreRefs& given) {
  const std::string source = versioning::dumped_repository(context.engine, given.dump).name.str();
  for (const auth::Action action : {auth::Action::kListTags, auth::Action::kListBranches,
                                    auth::Action::kListCommits, auth::Action::kListObjects}) {
    call.require_permission(action, auth::repository_arn(source));
  }
  call.require_permission_on_all_objects(auth::Action::kReadObject, source);
  for (const AliasName& alias : versioning::aliases_of_dump(context.engine, given.dump)) {
    call.require_permission(auth::Action::kSetAlias,
                            auth::alias_arn(call.path("repository"), alias.str()));
  }
}

http::Response task_status(const Context& context, Call& call, versioning::RefsTask task) {
  return json_response(
      200, json::refs_task_body(versioning::refs_task_status(context.engine, call.repository(),
                                                             task, call.parameter("task_id"))));
}

}  // namespace

http::Response dump_refs(const Context& context, Call& call) {
  return json_response(
      201, json::refs_dump_body(versioning::dump_refs(context.engine, call.repository())));
}

http::Response restore_refs(const Context& context, Call& call, json::RestoreRefs given) {
  demand_restore(context, call, given);
  versioning::restore_refs(context.engine, call.repository(), given.dump, given.force,
                           call.caller.user.name);
  return empty_response(200);
}
JsonHandler restore_refs() { return json_handler<json::parse_refs_restore, restore_refs>; }

http::Response start_dump(const Context& context, Call& call) {
  return json_response(202, json::id_body(versioning::start_dump(context.engine, call.repository(),
                                                                 call.caller.user.name)));
}

http::Response dump_status(const Context& context, Call& call) {
  return task_status(context, call, versioning::RefsTask::kDump);
}

http::Response start_restore(const Context& context, Call& call, json::RestoreRefs given) {
  demand_restore(context, call, given);
  return json_response(
      202, json::id_body(versioning::start_restore(context.engine, call.repository(), given.dump,
                                                   given.force, call.caller.user.name)));
}
JsonHandler start_restore() { return json_handler<json::parse_refs_restore, start_restore>; }

http::Response restore_status(const Context& context, Call& call) {
  return task_status(context, call, versioning::RefsTask::kRestore);
}

}  // namespace tarn::api
