// A guard that keeps a closed connection from ending the program.
#pragma once

#include <csignal>

namespace tarn::cli {

/// During its lifetime, writing to a closed connection fails in the calling thread without a
/// signal, which cpp-httplib does not arrange itself. Elsewhere SIGPIPE is unchanged, so that `tarn
/// log | head` ends with its reader. For one thread, on its stack.
class NoPipeSignal {
 public:
  NoPipeSignal();
  ~NoPipeSignal();
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
};

}  // namespace tarn::cli
