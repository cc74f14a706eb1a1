#include "core/auth/permission_check.h"
#include "core/auth/resource.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/imports/import.h"
#include "core/imports/import_job.h"
#include "core/imports/import_verify.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/import.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

std::string_view idempotency_key(const Call& call) {
  const std::string_view key = call.request.headers.get("Idempotency-Key");
  if (key.size() > imports::kIdempotencyKeyBytesMax || !is_utf8(key)) {
    throw_invalid(
        "parameter \"Idempotency-Key\" in header has an error: must be at most 255 bytes of UTF-8");
  }
  return key;
}

/// Checks all keys below the prefixes. The route has checked the names in the request, but an
/// import of a prefix replaces everything below the destination by everything below the source, and
/// a policy may deny parts of either. The affected keys are known only when the job runs.
void demand_all_below(const Call& call, const imports::ImportPath& path) {
  if (path.kind != imports::ImportPath::Kind::kPrefix) return;
  const std::string destination = auth::object_arn(call.path("repository"), call.path("branch"),
                                                   imports::destination_prefix(path));
  for (const auth::Action action : {auth::Action::kWriteObject, auth::Action::kDeleteObject})
    auth::require_permission_below(call.caller, action, destination, call.request.peer);
  // A source without a final slash matches every name with this prefix: "in" also "in-secret/x".
  const std::string source = auth::namespace_arn(path.url);
  const auto require = path.url.ends_with('/') ? auth::require_permission_on_directory
                                               : auth::require_permission_below;
  require(call.caller, auth::Action::kImportFromStorage, source, call.request.peer);
}

}  // namespace

http::Response preview_import(const Context& context, Call& call, json::StartImport given) {
  for (const imports::ImportPath& path : given.paths) demand_all_below(call, path);
  imports::ImportPreview preview =
      imports::preview_import(context.engine, repository_of(context, call), call.branch(),
                              {.paths = std::move(given.paths),
                               .commit = {},
                               .force = given.force,
                               .if_changed = given.if_changed},
                              call.amount());
  if (!call.allows(auth::Action::kListObjects,
                   auth::ref_arn(call.path("repository"), call.path("branch")))) {
    preview.changed_paths.clear();
    preview.removed_paths.clear();
  }
  return json_response(200, json::import_preview_body(preview));
}

http::Response start_import(const Context& context, Call& call, json::StartImport given) {
  for (const imports::ImportPath& path : given.paths) demand_all_below(call, path);
  const std::string id =
      imports::start_import(context.engine, repository_of(context, call), call.branch(),
                            {.paths = std::move(given.paths),
                             .commit = {.committer = call.caller.user.committer(),
                                        .message = std::move(given.commit.message),
                                        .metadata = std::move(given.commit.metadata),
                                        .date = given.commit.date,
                                        .allow_empty = given.commit.allow_empty,
                                        .force = given.commit.force},
                             .force = given.force,
                             .if_changed = given.if_changed},
                            idempotency_key(call));
  return json_response(202, json::id_body(id));
}

http::Response import_status(const Context& context, Call& call) {
  return json_response(
      200, json::import_status_body(imports::import_status(
               context.engine, repository_of(context, call), call.branch(), call.parameter("id"))));
}

http::Response cancel_import(const Context& context, Call& call) {
  imports::cancel_import(context.engine, repository_of(context, call), call.branch(),
                         call.parameter("id"));
  return empty_response(204);
}

http::Response verify_import(const Context& context, Call& call) {
  return json_response(200, json::verification_body(imports::verify_import(
                                context.engine, call.repository(), call.path("ref"),
                                {.prefix = std::string(call.parameter("prefix")),
                                 .after = std::string(call.parameter("after")),
                                 .limit = call.amount()})));
}

}  // namespace tarn::api
