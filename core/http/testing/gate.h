// A handler that keeps requests waiting.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "core/http/testing/test_server.h"

namespace tarn::http::testing {

/// Requests to /wait block until it is opened.
class Gate {
 public:
  Response operator()(Request& request) {
    ++served_;
    if (request.target == "/wait") {
      std::unique_lock lock(mutex_);
      ++waiting_;
      changed_.notify_all();
      changed_.wait(lock, [this] { return open_; });
      --waiting_;
    }
    return echo(request);
  }
  void open() {
    std::unique_lock lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  int served() const { return served_; }
  /// How many requests wait, once there are `count` of them or 5 seconds have passed.
  int await_waiting(int count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(5), [&] { return waiting_ >= count; });
    return waiting_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<int> served_{0};
  bool open_ = false;
  int waiting_ = 0;
};

}  // namespace tarn::http::testing
