#include "cli/pipe_signal.h"

#include <ctime>

namespace tarn::cli {

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
