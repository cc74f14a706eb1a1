#include "core/auth/resource.h"
#include "core/objects/cache_warming.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/writer.h"
#include "server/api/response.h"

namespace tarn::api {

http::Response warm_cache(const Context& context, Call& call) {
  const RepositoryName repository = call.repository();
  const objects::Warmed warmed = objects::warm_cache(
      context.engine, repository, call.path("ref"),
      {.prefix = std::string(call.parameter("prefix")),
       .after = std::string(call.parameter("after")),
       .allow = [&](std::string_view path) {
         call.require_permission(auth::Action::kReadObject,
                                 auth::object_arn(repository.str(), call.path("ref"), path));
       }});
  json::Writer out;
  out.begin_object();
  json::write_pagination(out, warmed.has_more, warmed.has_more ? warmed.next : "", 0);
  out.number("objects", static_cast<int64_t>(warmed.objects));
  out.number("copied", static_cast<int64_t>(warmed.copied));
  out.number("copied_bytes", static_cast<int64_t>(warmed.copied_bytes));
  out.number("present", static_cast<int64_t>(warmed.present));
  out.number("left_out", static_cast<int64_t>(warmed.left_out));
  out.number("missing", static_cast<int64_t>(warmed.missing));
  out.end_object();
  return json_response(200, std::move(out).take());
}

}  // namespace tarn::api
