// The end of every request under /api and /_blocks: common headers, counters, its line in the log.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/http/message.h"
#include "server/api/probe.h"

namespace tarn::api {

/// The record of one request, made when it arrives. One thread.
struct RequestRecord {
  std::string_view api;  ///< as the log names the API
  std::string_view operation;
  const Probe* probe;
  std::string user{};
  std::string_view error{};  ///< reason of a failure
  bool server_fault = false;
  std::string detail{};  ///< what went wrong inside; clients are told less
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();

  /// The answer to a request that failed, which is noted.
  http::Response failed(const Error& failure, const http::Request& request);
  /// Completes the answer, counts it and writes the line.
  void finish(const http::Request& request, http::Response& response) const;
};

}  // namespace tarn::api
