// Settings with an etag, in answers and in conditional requests.
#pragma once

#include <string>

#include "core/branch/settings.h"
#include "server/api/handlers/handlers.h"
#include "server/api/response.h"

namespace tarn::api {

/// Sets the etag without quotes, as clients send it back; "" means the setting was never changed.
inline http::Response tagged_response(std::string body, std::string etag) {
  http::Response response = json_response(200, std::move(body));
  response.headers.add("ETag", std::move(etag));
  return response;
}

/// The condition of If-Match.
inline branch::SettingWrite write_of(const Call& call) {
  branch::SettingWrite write;
  if (const std::string* if_match = call.request.headers.find("If-Match")) {
    write.if_match = *if_match;
  }
  return write;
}

}  // namespace tarn::api
