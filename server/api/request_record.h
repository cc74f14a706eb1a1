// The end of every request below /api and /_blocks: common headers, counters, log line.
#pragma once

#include <array>
#include <string_view>

#include "core/base/error.h"
#include "core/base/metrics.h"
#include "core/http/access_log.h"
#include "core/http/message.h"

namespace tarn::api {

/// Counters of one operation; made once, so counting looks nothing up.
struct Probe {
  explicit Probe(std::string_view operation)
      : seconds(&metrics::histogram("tarn_http_request_seconds", "Time to answer, by operation.",
                                    {"operation", operation})) {
    constexpr std::array<std::string_view, 4> kClasses = {"2xx", "3xx", "4xx", "5xx"};
    for (size_t i = 0; i < kClasses.size(); ++i) {
      requests[i] = &metrics::counter("tarn_http_requests_total",
                                      "Answers, by operation and class of status.",
                                      {"operation", operation}, {"status", kClasses[i]});
    }
  }
  void count(int status, double elapsed_seconds) const {
    const size_t i = status < 300 ? 0 : status < 400 ? 1 : status < 500 ? 2 : 3;
    requests[i]->add();
    seconds->observe(elapsed_seconds);
  }
  std::array<metrics::Counter*, 4> requests{};
  metrics::Histogram* seconds;
};

/// The record of one request, made when it arrives. One thread.
struct RequestRecord {
  http::AccessRecord access;
  const Probe* probe;

  /// The response for a failed request; remembers the failure for the log.
  http::Response failed(const Error& failure, const http::Request& request);
  /// Completes the response, counts it and writes the log line.
  void finish(const http::Request& request, http::Response& response) const;
};

}  // namespace tarn::api
