// The end of every request below /api and /_blocks: common headers, counters, log line.
#pragma once

#include <array>
#include <atomic>
#include <string_view>

#include "core/base/error.h"
#include "core/base/metrics.h"
#include "core/http/access_log.h"
#include "core/http/message.h"

namespace tarn::api {

/// Counters of one operation. A series begins with the first request that it counts.
class Probe {
 public:
  /// `operation` lives as long as the process.
  explicit Probe(std::string_view operation) : operation_(operation) {}
  void count(int status, double elapsed_seconds) const;

 private:
  const std::string_view operation_;
  mutable std::array<std::atomic<metrics::Counter*>, 4> requests_{};  // by class of status
  mutable std::atomic<metrics::Histogram*> seconds_ = nullptr;
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
