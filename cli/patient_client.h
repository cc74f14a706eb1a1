// A client that waits for a server that is unavailable for a while: restarting, failing over, or
// behind a proxy that reports so.
#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "cli/session.h"
#include "cli/signals.h"

namespace tarn::cli {

/// How long it waits for a server that does not answer, if the caller set no timeout.
constexpr std::chrono::minutes kServerAwayMax{10};

/// Records ^C and SIGTERM during its lifetime; one at a time. One thread at a time.
class PatientClient {
 public:
  /// Waits until `timeout` has passed; without one, as long as the server answers.
  PatientClient(Session& session, std::optional<std::chrono::milliseconds> timeout);

  /// The answer to a request that can be repeated. Throws unavailable once time_is_up() or
  /// interrupted(), or after kServerAwayMax without an answer; other errors of the server at once.
  Json call(const Request& request);

  bool interrupted() const { return watch_.interrupted(); }
  bool time_is_up() const;
  /// The time until time_is_up(), at most `most`.
  std::chrono::milliseconds left(std::chrono::milliseconds most) const;

 private:
  using SteadyClock = std::chrono::steady_clock;

  Session& session_;
  Client client_;
  const InterruptWatch watch_;
  std::optional<SteadyClock::time_point> deadline_;
};

}  // namespace tarn::cli
