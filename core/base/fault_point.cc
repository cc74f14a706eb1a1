#include "core/base/fault_point.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>

namespace tarn {
namespace {

struct Armed {
  std::string name;
  int signal = 0;
};

Armed read_fault_point() {
  const char* const value = std::getenv("TARN_FAULT_POINT");
  if (value == nullptr) return {};
  const std::string_view text(value);
  const size_t equals = text.rfind('=');
  if (equals == std::string_view::npos) return {};
  return {std::string(text.substr(0, equals)),
          text.substr(equals + 1) == "stop" ? SIGSTOP : SIGKILL};
}

const Armed& armed() {
  static const Armed value = read_fault_point();
  return value;
}

}  // namespace

bool fault_points_armed() { return !armed().name.empty(); }

void fault_point(std::string_view name) {
  static std::atomic<bool> fired{false};
  if (armed().name != name || fired.exchange(true)) return;
  std::raise(armed().signal);
}

}  // namespace tarn
