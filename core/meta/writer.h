// This process's rows in `writers`: they keep garbage collection from objects and nodes that it may
// still publish, and end statements that it gave up.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "core/base/mutex.h"
#include "core/base/time.h"
#include "core/db/pool.h"
#include "core/model/repository.h"

namespace tarn::meta {

/// How long a process may be silent before its row counts as dead. Renewed three times as often.
constexpr std::chrono::seconds kWriterTtl{60};

/// How long a fence waits for running statements, and statements that stage on the branch wait for
/// the fence.
constexpr std::chrono::milliseconds kFenceWait{2'000};

/// Safe from any thread. Every write of nodes, staged rows or object bytes happens inside an
/// Operation.
class Writer {
 public:
  Writer(db::Pool& pool, const Clock& clock);

  /// Makes the rows. Throws unavailable.
  void register_process();
  /// Raises the floors and the expiry; makes new rows when one was lost. Called every
  /// kWriterTtl / 3.
  void heartbeat();
  /// Removes the rows (clean shutdown).
  void unregister();

  /// The number of times that the rows were made, when the calling thread's outermost Operation
  /// began; now, if it has none.
  uint64_t registration() const;
  /// The row that publications name. 0, which no row has: the rows were lost since the calling
  /// thread's Operation began, so they do not protect what it refers to.
  int64_t id() const;
  /// The row that staging statements name: without it they do nothing. 0: the rows were lost since
  /// `of`.
  int64_t staging_id(uint64_t of) const;
  int64_t staging_id() const { return staging_id(registration()); }
  /// The id for a statement that did nothing under `refused`; nullopt: the rows were lost. Not to
  /// be called with a lease.
  std::optional<int64_t> staging_id_after(int64_t refused, uint64_t of);
  /// Ends staging statements of this process that named `used` and whose responses were lost: waits
  /// for running ones on `branch`, and lets no others start after the transaction of `connection`
  /// is committed. Throws DbError after kFenceWait.
  static void fence(db::Connection& connection, BranchId branch, int64_t used);
  /// Has it done by the next call of the two below: the database could not be asked.
  void fence_later(BranchId branch, int64_t used);
  /// Called before anything is staged on the branch. Throws DbError, and keeps those left.
  void raise_fences(BranchId branch);
  /// Called twice a second.
  void raise_all_fences() noexcept;

  /// A time for a new object address that is never below the published floor, even if the clock
  /// steps back.
  Instant address_time() const;
  /// Own objects whose address has this time or a later one are no candidates of garbage collection
  /// while an Operation runs that has begun.
  Instant fresh_since() const;

  /// Keeps the floors at their values of its construction. Cheap. Ends on the thread where it
  /// began, the innermost first.
  class Operation {
   public:
    explicit Operation(Writer& writer);
    ~Operation();
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

   private:
    friend class Writer;
    Writer& writer_;
    const Operation* const outer_;
    uint64_t epoch_;
    uint64_t registration_;
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
  std::vector<int64_t> fences_of(BranchId branch) const;
  uint64_t registration_of_thread() const TARN_REQUIRES(mutex_);

  db::Pool& pool_;
  const Clock& clock_;
  Mutex renewal_mutex_;  ///< taken before mutex_ and before a connection
  mutable Mutex mutex_;
  uint64_t registration_ TARN_GUARDED_BY(mutex_) = 0;
  int64_t id_ TARN_GUARDED_BY(mutex_) = 0;
  int64_t staging_id_ TARN_GUARDED_BY(mutex_) = 0;
  std::set<std::pair<BranchId, int64_t>> fences_ TARN_GUARDED_BY(mutex_);  ///< to be raised
  std::deque<Epoch> epochs_
      TARN_GUARDED_BY(mutex_);  ///< oldest first; the last one takes new operations
  uint64_t first_epoch_ TARN_GUARDED_BY(mutex_) = 0;  ///< number of epochs_.front()
};

}  // namespace tarn::meta
