// Keeps a connection that the other side closed from ending the program.
#pragma once

#include <csignal>

namespace tarn::cli {

/// While it lives, writing into a closed connection fails in the calling thread and raises no
/// signal; cpp-httplib does not ask for that itself. Elsewhere SIGPIPE stays as it is, so that
/// `tarn log | head` ends with its reader. For one thread, on its stack.
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
