// A limit on the requests that may wait at once, since each of them holds a thread of the server.
#pragma once

#include <atomic>
#include <cstddef>

namespace tarn {

/// Safe from any thread.
class WaiterLimit {
 public:
  explicit WaiterLimit(size_t most) : most_(most) {}

  /// One request that wants to wait, until it is destroyed. `admitted` false: too many wait.
  class Waiter {
   public:
    explicit Waiter(WaiterLimit& limit)
        : admitted(limit.waiting_.fetch_add(1) < limit.most_), limit_(limit) {
      if (!admitted) --limit_.waiting_;
    }
    ~Waiter() {
      if (admitted) --limit_.waiting_;
    }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    const bool admitted;

   private:
    WaiterLimit& limit_;
  };

 private:
  const size_t most_;
  std::atomic<size_t> waiting_{0};
};

}  // namespace tarn
