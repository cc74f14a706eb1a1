// Guards against signals: those that interrupt a command, and that of a closed connection.
#pragma once

#include <chrono>
#include <csignal>

namespace tarn::cli {

/// Records SIGINT and SIGTERM during its lifetime instead of ending the program. One at a time.
class InterruptWatch {
 public:
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  bool interrupted() const;
  /// Sleeps until the time has passed or a signal arrives; returns interrupted().
  bool sleep(std::chrono::milliseconds time) const;
};

/// A guard that keeps a closed connection from ending the program: during its lifetime, writing to
/// a closed connection fails in the calling thread without a signal, which cpp-httplib does not
/// arrange itself. Elsewhere SIGPIPE is unchanged, so that `tarn log | head` ends with its reader.
/// For one thread, on its stack.
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
