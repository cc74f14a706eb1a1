// A mutex with clang's thread-safety annotations (those of the standard library carry none).
#pragma once

#include <condition_variable>
#include <mutex>

#if defined(__clang__)
#define TARN_ATTRIBUTE(x) __attribute__((x))
#else
#define TARN_ATTRIBUTE(x)
#endif
#define TARN_GUARDED_BY(x) TARN_ATTRIBUTE(guarded_by(x))
#define TARN_REQUIRES(x) TARN_ATTRIBUTE(requires_capability(x))

namespace tarn {

class TARN_ATTRIBUTE(capability("mutex")) Mutex {
 public:
  void lock() TARN_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() TARN_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  bool try_lock() TARN_ATTRIBUTE(try_acquire_capability(true)) { return mutex_.try_lock(); }

 private:
  std::mutex mutex_;
};

/// Holds the mutex for a scope; `lock()`/`unlock()` let a condition variable use it.
class TARN_ATTRIBUTE(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) TARN_ATTRIBUTE(acquire_capability(mutex)) : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() TARN_ATTRIBUTE(release_capability()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void lock() TARN_ATTRIBUTE(acquire_capability()) { mutex_.lock(); }
  void unlock() TARN_ATTRIBUTE(release_capability()) { mutex_.unlock(); }

 private:
  Mutex& mutex_;
};

/// Waits on a MutexLock. Always use it with a predicate and a deadline.
using CondVar = std::condition_variable_any;

}  // namespace tarn
