// The access log: one line for each finished request, the same for every API.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/log.h"
#include "core/base/work_time.h"
#include "core/http/message.h"

namespace tarn::http {

/// Longer user agents are cut in the log.
constexpr size_t kLoggedAgentBytesMax = 256;

/// Requests that end sooner get no line, unless their level is above info. At start: 0, so that
/// all have one. Safe from any thread.
void set_logged_duration(std::chrono::nanoseconds least);

/// The record of one request, made when it arrives. One thread.
struct AccessRecord {
  std::string_view api;        ///< rest, blocks or s3
  std::string_view operation;  ///< as far as it is known
  std::string user{};          ///< "" = not authenticated
  std::string path{};          ///< "" = that of the request
  std::string_view code{};     ///< of a failure
  std::string error{};         ///< the cause of a failure; clients may see less
  log::Level level = log::Level::kInfo;
  std::chrono::steady_clock::time_point began = std::chrono::steady_clock::now();
  WorkTime worked_before = work_time();
  /// Shared with the body, which may outlive the request.
  std::shared_ptr<uint64_t> received_bytes = std::make_shared<uint64_t>(0);

  /// Counts bytes that are read from the body from now on.
  void count_body(Request& request) const;
  double seconds() const;
  /// Writes the line, before the body is sent. The response must be complete. database_ms and
  /// store_ms are the time that this thread waited for them, queue_ms the wait for a worker.
  void write_log(const Request& request, const Response& response) const;
};

/// The bytes of the body that the response announces: a download that breaks off counts whole.
uint64_t announced_bytes(const Request& request, const Response& response);

}  // namespace tarn::http
