// Read leases: this server's right to answer reads of a branch from memory for a while, and how
// writers end it. The protocol is in docs/design/042-read-leases.md.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "core/base/metrics.h"
#include "core/base/mutex.h"
#include "core/db/pool.h"
#include "core/meta/read_lease_options.h"
#include "core/meta/staging.h"

namespace tarn::meta {

/// The length of a lease, the same in all versions: a writer waits for so long after it revoked one
/// of a server that does not answer. enter_timeline in the schema waits as long.
constexpr std::chrono::milliseconds kReadLease{1'000};
/// A holder stops reading so long before the end: clocks of two servers may go at different rates.
constexpr std::chrono::milliseconds kReadLeaseMargin{100};
/// How often a holder renews its leases and looks for revocations: a writer that meets a lease
/// waits about as long.
constexpr std::chrono::milliseconds kReadLeaseRenewal{20};
/// A branch is not leased again for longer than that, however often writes end its leases.
constexpr std::chrono::milliseconds kReadLeasePauseMax{300'000};
/// Maximum number of read leases of one server.
constexpr size_t kReadLeasesMax = 256;
/// A branch with more staged rows is read from the database.
constexpr uint32_t kLeasedRowsMax = 100'000;
constexpr size_t kLeasedBytesMax = 64 << 20;  ///< of the staged rows of all leases

/// Ends the read leases that the error names: revokes them, then waits until their holders have
/// given them back or the leases must have ended. For PoolOptions::end_read_leases. Throws
/// unavailable.
void end_read_leases(db::Pool& pool, const db::DbError& error);

/// The whole of what reads of a branch return, of one moment. Immutable.
struct LeasedBranch {
  RepositoryId repository{};
  Branch branch;
  std::vector<StagedRow> rows;       ///< by key
  std::vector<StagedRange> deletes;  ///< disjoint, ascending
  size_t bytes = 0;

  /// `token`, `row_kind` and `row_bytes`, which writes need, are not filled.
  BranchLookup at(const Key& key) const;
};

/// Reads of branches, from memory while this server holds a lease. Safe from any thread.
class ReadLeases {
 public:
  ReadLeases(db::Pool& pool, Staging& staging, const ReadLeaseOptions& options);
  ~ReadLeases();
  ReadLeases(const ReadLeases&) = delete;
  ReadLeases& operator=(const ReadLeases&) = delete;

  /// Takes leases of branches that are read often from now on, on a thread of its own, if the
  /// options say so. Called once.
  void start();

  /// The branch, with no less than what any server acknowledged before the call; nullptr: the
  /// database has to be asked. The answer is that of a moment during the call, however long the
  /// caller rests before it uses it.
  std::shared_ptr<const LeasedBranch> find(const RepositoryName& repository,
                                           const BranchName& branch);
  /// Counts a read for which the database was asked.
  void count(const RepositoryName& repository, const BranchName& branch);
  /// The same as Staging::lookup, for reads alone: see LeasedBranch::at.
  std::optional<BranchLookup> lookup(const RepositoryName& repository, const BranchName& branch,
                                     const Key& key);

 private:
  /// A moment by two clocks: the time since boot, which goes on during suspend and never jumps, and
  /// the wall clock, which goes on if the whole machine was stopped.
  struct Moment {
    std::chrono::nanoseconds boot{};
    std::chrono::nanoseconds wall{};
    static Moment now();
    /// By the clock that went further.
    std::chrono::nanoseconds since(const Moment& before) const;
  };
  /// A branch that is read.
  struct Place {
    // Without a lease.
    uint32_t reads = 0;  ///< since `counted_from`
    Moment counted_from{};
    Moment paused_from{};
    std::chrono::milliseconds pause{0};
    bool wanted = false;
    // The view of a branch that this server holds a lease on.
    std::shared_ptr<const LeasedBranch> view{};
    int64_t number = 0;
    Moment renewed{};  ///< noted before the request that renewed it
    Moment taken{};
    Moment used{};
  };
  struct Name {
    std::string repository;
    std::string branch;
  };
  struct NameView {
    std::string_view repository;
    std::string_view branch;
  };
  struct NameHash {
    using is_transparent = void;
    size_t operator()(const NameView& name) const;
    size_t operator()(const Name& name) const {
      return (*this)(NameView{name.repository, name.branch});
    }
  };
  struct NameEqual {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return a.branch == b.branch && a.repository == b.repository;
    }
  };
  using Places = std::unordered_map<Name, Place, NameHash, NameEqual>;

  void run(const std::stop_token& stop);
  Moment renew();
  void take_wanted();
  void take(const Name& name);
  std::optional<Moment> fill(const Name& name, LeasedBranch& branch);
  void give_back(const std::vector<int64_t>& numbers);
  void forget(Place& place, bool was_written) TARN_REQUIRES(mutex_);

  db::Pool& pool_;
  Staging& staging_;
  const ReadLeaseOptions options_;
  int64_t holder_ = 0;  ///< set by start
  int64_t taking_ = 0;  ///< the lease under which `thread_` reads a branch; 0: none, or it ended
  Mutex mutex_;
  CondVar changed_;
  Places places_ TARN_GUARDED_BY(mutex_);
  size_t held_ TARN_GUARDED_BY(mutex_) = 0;
  size_t bytes_ TARN_GUARDED_BY(mutex_) = 0;
  bool wanted_ TARN_GUARDED_BY(mutex_) = false;  ///< a place is
  std::shared_ptr<metrics::GaugeToken> gauge_;
  std::jthread thread_;  // last member: it uses all of the above
};

}  // namespace tarn::meta
