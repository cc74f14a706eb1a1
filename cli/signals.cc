#include "cli/signals.h"

#include <algorithm>
#include <csignal>
#include <ctime>
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

NoPipeSignal::NoPipeSignal() {
  sigemptyset(&pipe_);
  sigaddset(&pipe_, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
}

NoPipeSignal::~NoPipeSignal() {
  if (sigismember(&before_, SIGPIPE) == 1) return;
  const timespec at_once{};
  while (sigtimedwait(&pipe_, nullptr, &at_once) == SIGPIPE) {  // taken, not delivered below
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace tarn::cli
