// Requests to servers that users named (hooks, webhooks): bounded in time and size, never through
// a proxy or a redirect, and only to addresses that the installation permits.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/http/message.h"
#include "core/http/target_rules.h"

namespace tarn::http {

constexpr size_t kOutboundUrlBytesMax = 2'048;

struct OutboundOptions {
  /// Permitted targets besides public addresses: `hooks.allowed_targets`.
  std::vector<std::string> allowed_targets{};
  std::chrono::milliseconds connect_timeout{5'000};  ///< looking up the name included
  /// "HOST:PORT:ADDRESS[,ADDRESS]" for names that are not looked up (tests).
  std::vector<std::string> known_names{};
};

struct OutboundRequest {
  std::string method = "POST";
  std::string url{};  ///< http or https, without user and password
  Headers headers{};
  std::string body{};
  std::chrono::milliseconds timeout{60'000};  ///< for the whole exchange
  size_t answer_bytes_max = 64 << 10;         ///< of the body; the rest is left unread
};

struct OutboundAnswer {
  int status = 0;
  Headers headers{};
  std::string body{};
  bool cut = false;  ///< the body was longer than requested
};

/// How long an answer with 429 or 503 asks to be left alone (Retry-After: seconds or a date), at
/// most `longest`; nullopt: it does not ask, or not legibly.
std::optional<std::chrono::milliseconds> retry_after(const OutboundAnswer& answer, Instant now,
                                                     std::chrono::milliseconds longest);

/// Safe from any thread. A connection serves one request.
class Outbound {
 public:
  /// Throws invalid_argument naming an entry of `allowed_targets` that cannot be read.
  explicit Outbound(OutboundOptions options);

  /// Returns answers of every status, redirects too. The address is judged when it is connected to,
  /// so that a name cannot change between being examined and being used. Throws invalid_argument
  /// (reasons "target_not_allowed": names hooks.allowed_targets; "invalid_url"), unavailable
  /// (cannot be reached, no answer in time), and conflict (reason "operation_cancelled") soon after
  /// the thread's work is cancelled (core/base/cancellation.h).
  OutboundAnswer send(const OutboundRequest& request) const;

  /// Throws what `send` would about this URL and its address, without connecting to it. A name that
  /// cannot be looked up now passes.
  void check(const std::string& url) const;

 private:
  const OutboundOptions options_;
  const TargetRules rules_;
};

}  // namespace tarn::http
