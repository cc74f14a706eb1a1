// Requests to a server that may be unavailable for a while: restarting, failing over, or behind a
// proxy that reports so.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "cli/interrupt.h"
#include "cli/session.h"

namespace tarn::cli {

/// Without a time-out of the caller's: how long a server is waited for that does not answer.
constexpr std::chrono::minutes kServerAwayMax{10};

/// While one lives, ^C and SIGTERM are remembered; one at a time. One thread at a time.
class PatientClient {
 public:
  /// Waits until `timeout` has passed; without one as long as the server answers.
  PatientClient(Session& session, std::optional<std::chrono::milliseconds> timeout);

  /// The answer to a request that may be repeated. Throws unavailable once time_is_up() or
  /// interrupted() or after kServerAwayMax without an answer; what the server refuses at once.
  Json call(const Request& request);

  bool interrupted() const { return watch_.interrupted(); }
  bool time_is_up() const;
  /// Until time_is_up(), at most `most`.
  std::chrono::milliseconds left(std::chrono::milliseconds most) const;

 private:
  using SteadyClock = std::chrono::steady_clock;

  Session& session_;
  Client client_;
  const InterruptWatch watch_;
  std::optional<SteadyClock::time_point> deadline_;
};

}  // namespace tarn::cli
