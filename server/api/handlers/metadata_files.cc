#include "core/versioning/metadata_files.h"

#include "core/auth/resource.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/blob/direct_access.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/commit.h"
#include "server/api/json/object.h"
#include "server/api/object_body.h"
#include "server/api/presigner.h"
#include "server/api/response.h"

namespace tarn::api {
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
