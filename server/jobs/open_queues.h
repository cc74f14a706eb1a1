// The queues of the database that may have work for background loops.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <stop_token>

#include "core/base/mutex.h"
#include "core/db/pool.h"

namespace tarn::jobs {

/// In the order of the columns of look()'s statement.
enum class Queue : uint32_t { kJobs, kPromotions, kMoves, kHooks, kExtractions, kDeliveries };
inline constexpr std::array kQueues{Queue::kJobs,  Queue::kPromotions,  Queue::kMoves,
                                    Queue::kHooks, Queue::kExtractions, Queue::kDeliveries};

/// Lets the loops of an idle server sleep: one statement asks for all queues, and only the loops of
/// those that may have work ask for it. Thread-safe.
class OpenQueues {
 public:
  /// A loop asks its queue after this time whatever look() found, or if look() fails.
  static constexpr std::chrono::seconds kWaitMax{60};

  explicit OpenQueues(db::Pool& pool) : pool_(pool) {}
  /// Asks the database and wakes the loops of open queues. Throws db::Error.
  void look();
  /// Blocks until the last look() found the queue open, `stop` is requested, or `most` has passed.
  /// Returns whether the queue is open.
  bool await(Queue queue, const std::stop_token& stop, std::chrono::milliseconds most = kWaitMax);

 private:
  db::Pool& pool_;
  Mutex mutex_;
  CondVar looked_;
  uint32_t open_ TARN_GUARDED_BY(mutex_) = 0;  ///< a bit for each Queue
};

}  // namespace tarn::jobs
