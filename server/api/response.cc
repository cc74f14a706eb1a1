#include "server/api/response.h"

#include <utility>

namespace tarn::api {

http::Response json_response(int status, std::string body) {
  http::Response response;
  response.status = status;
  response.headers.add("Content-Type", "application/json");
  response.body = std::move(body);
  return response;
}

http::Response text_response(int status, std::string body) {
  http::Response response;
  response.status = status;
  response.headers.add("Content-Type", "text/plain; charset=utf-8");
  response.body = std::move(body);
  return response;
}

http::Response empty_response(int status) {
  http::Response response;
  response.status = status;
  return response;
}

}  // namespace tarn::api
