#include "cli/interrupt.h"

#include <algorithm>
#include <csignal>
#include <thread>

namespace tarn::cli {
namespace {

// Global, because a signal handler has no other access.
volatile std::sig_atomic_t interrupted_by = 0;

void remember(int signal) { interrupted_by = signal; }

constexpr std::chrono::milliseconds kLookEvery{50};

}  // namespace

InterruptWatch::InterruptWatch() {
  interrupted_by = 0;
  std::signal(SIGINT, remember);
  std::signal(SIGTERM, remember);
}

InterruptWatch::~InterruptWatch() {
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
}

bool InterruptWatch::interrupted() const { return interrupted_by != 0; }

bool InterruptWatch::sleep(std::chrono::milliseconds time) const {
  const auto until = std::chrono::steady_clock::now() + time;
  while (!interrupted() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::min(kLookEvery, time));
  }
  return interrupted();
}

}  // namespace tarn::cli
