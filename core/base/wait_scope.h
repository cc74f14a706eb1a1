// Notice of a thread's waits, so that a pool of threads can let another one run meanwhile.
#pragma once

#include <utility>

namespace tarn {

/// Both functions are called by the thread that waits; they do not wait themselves.
class WaitObserver {
 public:
  virtual void wait_begins() noexcept = 0;
  virtual void wait_ends() noexcept = 0;

 protected:
  ~WaitObserver() = default;
};

/// The observer of the calling thread; nullptr unless a pool has set one.
inline WaitObserver*& wait_observer() {
  thread_local WaitObserver* of_thread = nullptr;
  return of_thread;
}

/// Spans a wait of the calling thread for the database, the disk, the network or another thread.
/// A scope within another one changes nothing.
class WaitScope {
 public:
  WaitScope() : observer_(std::exchange(wait_observer(), nullptr)) {
    if (observer_ != nullptr) observer_->wait_begins();
  }
  ~WaitScope() {
    if (observer_ == nullptr) return;
    observer_->wait_ends();
    wait_observer() = observer_;
  }
  WaitScope(const WaitScope&) = delete;
  WaitScope& operator=(const WaitScope&) = delete;

 private:
  WaitObserver* observer_;
};

}  // namespace tarn
