// Requests to other servers that a script sends through this one, within limits.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "core/actions/lua/channel.h"
#include "core/http/outbound.h"

namespace tarn::actions {

struct ScriptRequestLimits {
  int requests_max = 10'000;
  /// Bodies sent and received, of all requests together.
  uint64_t bytes_max = uint64_t{1} << 30;
  size_t answer_bytes_max = 8u << 20;   ///< of one answer's body
  size_t header_bytes_max = 64u << 10;  ///< of one request, names and values
};

/// The requests of one script; one thread. The script chooses method, URL, headers and body; where
/// they go is for `outbound` to permit.
class ScriptRequests {
 public:
  /// No request lasts past `deadline`.
  ScriptRequests(const http::Outbound& outbound, std::chrono::steady_clock::time_point deadline,
                 ScriptRequestLimits limits = {})
      : outbound_(outbound), deadline_(deadline), limits_(limits) {}

  /// `given` has "url", and may have "method" and "headers". The answer's JSON has "status",
  /// "reason" and "headers", its bytes the body. Throws what Outbound::send throws,
  /// invalid_argument for arguments of a wrong type, and resource_exhausted (reason
  /// "script_requests") past a limit.
  Message send(const nlohmann::json& given, const std::string& body);

 private:
  void check_limits(size_t body_bytes) const;

  const http::Outbound& outbound_;
  const std::chrono::steady_clock::time_point deadline_;
  const ScriptRequestLimits limits_;
  int requests_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace tarn::actions
