#include "cli/patient_client.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kPause{500};
/// Short, so that a request that hangs because the server's machine is gone barely exceeds the
/// timeout.
constexpr seconds kConnectMax{5};
constexpr seconds kAnswerMax{20};

}  // namespace

PatientClient::PatientClient(Session& session, std::optional<milliseconds> timeout)
    : session_(session),
      client_(session.settings, {.attempts = 1, .connect = kConnectMax, .answer = kAnswerMax}) {
  if (timeout) deadline_ = SteadyClock::now() + *timeout;
}

bool PatientClient::time_is_up() const { return deadline_ && SteadyClock::now() >= *deadline_; }

milliseconds PatientClient::left(milliseconds most) const {
  if (!deadline_) return most;
  return std::clamp(std::chrono::ceil<milliseconds>(*deadline_ - SteadyClock::now()),
                    milliseconds{0}, most);
}

Json PatientClient::call(const Request& request) {
  std::optional<SteadyClock::time_point> away_since;
  for (;;) {
    try {
      return client_.call(request);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kUnavailable) throw;
      if (!away_since) {
        away_since = SteadyClock::now();
        session_.out.remark(str_cat(error.message(), "; waiting for the server"));
      }
      const bool too_long = !deadline_ && SteadyClock::now() - *away_since >= kServerAwayMax;
      if (too_long || time_is_up() || watch_.sleep(left(kPause))) throw;
    }
  }
}

}  // namespace tarn::cli
