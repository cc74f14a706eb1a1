#include "server/api/request_record.h"

#include "core/base/fault.h"
#include "core/base/reasons.h"
#include "server/api/errors.h"

namespace tarn::api {
namespace {

constexpr std::string_view kLoginOperation = "login";

/// Whether the request had credentials that were refused, as opposed to none.
bool is_refused_sign_in(const Error& failure, const http::AccessRecord& access,
                        const http::Request& request) {
  if (failure.reason() == reason::kTooManyFailures) return true;
  return failure.code() == ErrorCode::kUnauthenticated &&
         (request.headers.count("Authorization") > 0 || access.operation == kLoginOperation);
}

log::Level level_of(const Error& failure, const http::AccessRecord& access,
                    const http::Request& request) {
  if (is_server_fault(failure)) return log::Level::kError;
  return is_refused_sign_in(failure, access, request) ? log::Level::kWarn : log::Level::kInfo;
}

}  // namespace

void Probe::count(int status, double elapsed_seconds) const {
  constexpr std::array<std::string_view, 4> kClasses = {"2xx", "3xx", "4xx", "5xx"};
  const size_t i = status < 300 ? 0 : status < 400 ? 1 : status < 500 ? 2 : 3;
  metrics::Counter* requests = requests_[i];
  if (requests == nullptr) {  // threads that look it up at once find the same
    requests_[i] = requests =
        &metrics::counter("tarn_http_requests_total", "Answers, by operation and class of status.",
                          {"operation", operation_}, {"status", kClasses[i]});
  }
  requests->add();
  metrics::Histogram* seconds = seconds_;
  if (seconds == nullptr) {
    seconds_ = seconds = &metrics::histogram(
        "tarn_http_request_seconds", "Time to answer, by operation.", {"operation", operation_});
  }
  seconds->observe(elapsed_seconds);
}

http::Response RequestRecord::failed(const Error& failure, const http::Request& request) {
  access.code = failure.reason();
  access.level = level_of(failure, access, request);
  http::Response response = failure_response(failure, request.id);
  if (response.status >= 500 && response.status != 501) access.error = failure.message();
  return response;
}

void RequestRecord::finish(const http::Request& request, http::Response& response) const {
  response.headers.add("X-Content-Type-Options", "nosniff");
  // Keeps pages of other origins from embedding data that is read with the visitor's cookie.
  response.headers.add("Cross-Origin-Resource-Policy", "same-origin");
  response.headers.add("X-Request-Id", request.id);
  if (request.method == "HEAD") {
    if (!response.content_length) response.content_length = response.body.size();
    response.body.clear();
  }
  probe->count(response.status, access.seconds());
  access.write_log(request, response);
}

}  // namespace tarn::api
