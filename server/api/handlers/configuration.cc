#include "server/api/json/configuration.h"

#include "core/base/str_cat.h"
#include "server/api/handlers/handlers.h"
#include "server/api/json/account.h"
#include "server/api/response.h"

namespace tarn::api {

http::Response get_config(const Context& context, Call&) {
  return json_response(200, json::config_body(context.installation));
}

http::Response get_version(const Context& context, Call&) {
  return json_response(200, json::version_body(context.installation));
}

http::Response get_storage_config(const Context& context, Call&) {
  return json_response(200, json::storage_body(context.installation));
}

http::Response get_collection_config(const Context& context, Call&) {
  return json_response(200, json::collection_body(context.installation));
}

http::Response list_settings(const Context& context, Call&) {
  return json_response(200, json::settings_body(context.settings));
}

http::Response list_servers(const Context& context, Call&) {
  std::vector<ServerProcess> servers;
  if (context.list_servers) servers = context.list_servers();
  return json_response(200, json::servers_body(servers, context.server_id));
}

http::Response health_check(const Context&, Call&) { return empty_response(204); }

http::Response post_statistics(const Context&, Call&, json::Checked) {
  return empty_response(204);  // clients insist on sending them; nothing is kept
}
JsonHandler post_statistics() { return json_handler<json::check_statistics, post_statistics>; }

http::Response get_usage_report(const Context& context, Call& call) {
  if (call.request.headers.get("Accept") == "text/plain") {
    return text_response(200, str_cat("Usage for installation ID: ", context.installation.id,
                                      "\nNothing is counted.\n"));
  }
  return json_response(200, json::usage_body(context.installation));
}

}  // namespace tarn::api
