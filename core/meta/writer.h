// This process's row in `writers`: what garbage collection must not touch because we may still
// publish it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "core/base/mutex.h"
#include "core/base/time.h"
#include "core/db/pool.h"

namespace tarn::meta {

/// How long a process may be silent before its row counts as dead. Renewed three times as often.
constexpr std::chrono::seconds kWriterTtl{60};

/// Safe from any thread. Every write of nodes, staged rows or object bytes happens inside an
/// Operation.
class Writer {
 public:
  Writer(db::Pool& pool, const Clock& clock);

  /// Makes the row. Throws unavailable.
  void register_process();
  /// Raises the floors and the expiry; makes a new row when the old one was lost. Called every
  /// kWriterTtl / 3.
  void heartbeat();
  /// Removes the row (clean shutdown).
  void unregister();

  int64_t id() const;
  /// A time for a new object address that is never below the published floor, whatever the clock
  /// does.
  Instant address_time() const;

  /// Holds the floors at what they were when it began. Cheap.
  class Operation {
   public:
    explicit Operation(Writer& writer);
    ~Operation();
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

   private:
    Writer& writer_;
    uint64_t epoch_;
  };

 private:
  struct Floors {
    int64_t nid = 0;
    Instant address{};
  };
  /// Operations that began between two heartbeats share an epoch and its floors.
  struct Epoch {
    Floors floors;
    uint64_t running = 0;
  };
  Floors read_floors();

  db::Pool& pool_;
  const Clock& clock_;
  mutable Mutex mutex_;
  int64_t id_ TARN_GUARDED_BY(mutex_) = 0;
  std::deque<Epoch> epochs_
      TARN_GUARDED_BY(mutex_);  ///< oldest first; the last one takes new operations
  uint64_t first_epoch_ TARN_GUARDED_BY(mutex_) = 0;  ///< number of epochs_.front()
};

}  // namespace tarn::meta
