#include "core/objects/upload.h"
#include "server/api/conditional.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/object.h"
#include "server/api/presigner.h"
#include "server/api/quota_warning.h"
#include "server/api/response.h"
#include "server/api/user_metadata.h"

namespace tarn::api {

http::Response get_physical_address(const Context& context, Call& call) {
  const auto presigner = Presigner::asked_for(context, call);
  const auto address = objects::hand_out_address(context.engine, call.repository(), call.branch(),
                                                 call.key(), call.caller.user.name);
  std::optional<json::PresignedUrl> url;
  if (presigner) url = {presigner->write_url(address), presigner->expiry()};
  return json_response(200, json::staging_location_body(address.text, url));
}

http::Response link_physical_address(const Context& context, Call& call, json::StagedBytes given) {
  const branch::Condition condition = write_condition(call.request.headers);
  check_user_metadata(given.metadata);
  const objects::UploadTarget target = objects::check_upload(
      context.engine, call.repository(), call.branch(), call.key(), given.force, {});
  if (given.content_type.empty()) given.content_type = json::kDefaultContentType;
  const Entry entry = objects::link_address(
      context.engine, target, given.physical_address, call.caller.user.name,
      {.size_bytes = given.size_bytes, .etag = given.checksum, .mtime = given.mtime},
      {.content_type = std::move(given.content_type),
       .user_metadata = std::move(given.metadata),
       .extras = {}},
      condition);
  // The address is returned as it was sent, token included.
  http::Response response = json_response(
      200,
      json::object_body(
          {.path = target.key.str(), .entry = entry, .physical_address = given.physical_address}));
  add_quota_warning(context, target.repository.id, target.branch.name.str(), response);
  return response;
}
JsonHandler link_physical_address() {
  return json_handler<json::parse_link_address, link_physical_address>;
}

}  // namespace tarn::api
