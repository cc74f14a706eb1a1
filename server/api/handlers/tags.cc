#include "core/branch/refs.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/ref.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {
namespace {

constexpr size_t kBytesPerTag = 120;

}  // namespace

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
JsonHandler create_tag() { return json_handler<json::parse_create_tag, create_tag>; }

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

}  // namespace tarn::api
