// Handlers and servers that several tests use.
#pragma once

#include <algorithm>
#include <csignal>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/str_cat.h"
#include "core/http/server.h"

namespace tarn::http::testing {

constexpr size_t kTestBodyMax = 8 << 20;

/// A server on a free port of 127.0.0.1, with few threads unless the limits say otherwise.
inline std::unique_ptr<Server> serve(Handler handler, ServerLimits limits = {.workers = 4}) {
  std::signal(SIGPIPE, SIG_IGN);
  return Server::start("127.0.0.1", 0, limits, std::move(handler));
}

/// Answers "METHOD target body".
inline Response echo(Request& request) {
  Response response;
  response.body =
      str_cat(request.method, " ", request.target, " ", read_all(*request.body, kTestBodyMax));
  return response;
}

/// Answers 403 without looking at the body.
inline Response forbid(Request&) {
  Response response;
  response.status = 403;
  response.body = "no";
  return response;
}

/// "METHOD target HTTP/1.1" with a Host and more header lines, each ended by CR LF.
inline std::string head(std::string_view request, std::string_view headers = "") {
  return str_cat(request, " HTTP/1.1\r\nHost: h\r\n", headers, "\r\n");
}

}  // namespace tarn::http::testing
