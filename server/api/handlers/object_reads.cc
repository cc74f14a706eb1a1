#include "core/objects/objects.h"
#include "core/objects/symlinks.h"
#include "server/api/errors.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/object.h"
#include "server/api/object_answer.h"
#include "server/api/object_listing.h"
#include "server/api/presigner.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

objects::FoundObject find_object(const Context& context, const Call& call) {
  return objects::get_object(context.engine, call.repository(), call.path("ref"), call.key());
}

}  // namespace

http::Response get_object(const Context& context, Call& call) {
  const objects::FoundObject found = find_object(context, call);
  if (call.request.headers.get("If-None-Match") == quoted_etag(found.entry))
    return empty_response(304);
  if (const auto presigner = Presigner::asked_for(context, call)) {
    http::Response response = empty_response(302);
    response.headers.add("Location", presigner->read_url(found.repository, call.path("ref"),
                                                         call.parameter("path"), found.entry));
    return response;
  }
  return object_answer(context.engine, call.request, found.repository, call.parameter("path"),
                       found.entry, context.read_check);
}

http::Response head_object(const Context& context, Call& call) {
  const objects::FoundObject found = find_object(context, call);
  return object_answer(context.engine, call.request, found.repository, call.parameter("path"),
                       found.entry, context.read_check);
}

http::Response stat_object(const Context& context, Call& call) {
  const auto presigner = Presigner::asked_for(context, call);
  const objects::FoundObject found = find_object(context, call);
  const bool with_metadata = call.parameter("user_metadata").empty() || call.flag("user_metadata");
  using Shown = json::ObjectView::UserMetadata;
  const ShownAddress address =
      shown_address(context, presigner ? &*presigner : nullptr, found.repository, call.path("ref"),
                    call.parameter("path"), found.entry);
  return json_response(
      200, json::object_body({.path = call.parameter("path"),
                              .entry = found.entry,
                              .physical_address = address.text,
                              .address_expiry = address.expiry,
                              .user_metadata = with_metadata ? Shown::kAlways : Shown::kEmpty}));
}

http::Response list_objects(const Context& context, Call& call) {
  const auto presigner = Presigner::asked_for(context, call);
  const auto page = objects::list_objects(context.engine, call.repository(), call.path("ref"),
                                          {.prefix = std::string(call.parameter("prefix")),
                                           .after = std::string(call.parameter("after")),
                                           .delimiter = std::string(call.parameter("delimiter")),
                                           .limit = call.amount()});
  return object_listing(context, call, presigner, page);
}

http::Response get_underlying_properties(const Context& context, Call& call) {
  const objects::FoundObject found = find_object(context, call);
  const std::string storage_class(found.entry.extras.get(ExtraTag::kStorageClass));
  return json_response(200, json::underlying_properties_body(storage_class));
}

http::Response create_symlinks(const Context& context, Call& call) {
  const std::string location = objects::create_symlinks(
      context.engine, call.repository(), call.path("branch"), call.parameter("location"));
  return json_response(201, json::storage_uri_body(location));
}

}  // namespace tarn::api
