// Detection of ^C and SIGTERM while the command waits for the server.
#pragma once

#include <chrono>

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

}  // namespace tarn::cli
