#include "server/api/request_record.h"

#include "core/base/fault.h"
#include "core/base/log.h"
#include "server/api/errors.h"

namespace tarn::api {

http::Response RequestRecord::failed(const Error& failure, const http::Request& request) {
  error = failure.reason();
  server_fault = is_server_fault(failure);
  http::Response response = failure_response(failure, request.id);
  if (response.status >= 500 && response.status != 501) detail = failure.message();
  return response;
}

void RequestRecord::finish(const http::Request& request, http::Response& response) const {
  response.headers.add("X-Content-Type-Options", "nosniff");
  // No page of another origin may show or run what the visitor's cookie reads.
  response.headers.add("Cross-Origin-Resource-Policy", "same-origin");
  response.headers.add("X-Request-Id", request.id);
  if (request.method == "HEAD") {
    if (!response.content_length) response.content_length = response.body.size();
    response.body.clear();
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - began;
  probe->count(response.status, elapsed.count());
  const log::Level level = server_fault ? log::Level::kError : log::Level::kInfo;
  if (!log::enabled(level)) return;
  log::write(level, "request",
             {{"request_id", request.id},
              {"api", api},
              {"operation", operation},
              {"user", user},
              {"method", request.method},
              {"path", request.raw_path()},
              {"status", response.status},
              {"code", error},
              {"error", detail},
              {"duration_ms", elapsed.count() * 1000}});
}

}  // namespace tarn::api
