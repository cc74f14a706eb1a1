// Job rows: leased long work that outlives its request and its process.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/db/pool.h"
#include "core/model/names.h"
#include "core/model/page.h"

namespace tarn::jobs {

enum class JobState { kQueued, kRunning, kDone, kFailed, kCancelled };

struct Job {
  std::string id;  ///< 20 characters of base32hex; ids of later jobs are greater
  std::string kind;
  RepositoryId repository{};
  BranchId branch{};
  JobState state = JobState::kQueued;
  std::string spec;        ///< bytes of the kind's own form
  std::string checkpoint;  ///< where a resumed run continues
  int64_t progress = 0;
  std::string result;
  std::string error;
  std::string owner;   ///< user
  std::string limits;  ///< of the key that asked for it (ActingUser::limits)
  Instant updated{};
};

/// A row of a list for people.
struct ListedJob {
  std::string id;
  std::string kind;        ///< "import", "verify" ...
  std::string repository;  ///< "" once it is deleted
  std::string branch;      ///< "" once it is deleted, and of jobs without one
  JobState state = JobState::kQueued;
  int64_t progress = 0;  ///< objects so far
  std::string error;
  std::string owner;
  Instant created{};
  Instant updated{};
};

std::string_view name_of(JobState state);

/// Safe from any thread.
class Jobs {
 public:
  Jobs(db::Pool& pool, const Clock& clock) : pool_(pool), clock_(clock) {}

  /// Stores a queued job with the limits of the acting user, and returns its id; with a key (not
  /// empty) that a job of this kind, branch and owner has already, that job's.
  std::string create(std::string_view kind, RepositoryId repository, BranchId branch,
                     std::string_view spec, std::string_view owner,
                     std::string_view idempotency_key = {});
  std::optional<Job> find(std::string_view id);
  /// Newest first, of this owner or of all users; `after`: an id, exclusive, "" = from the newest.
  /// Jobs of a deleted user are not those of a later one with the same name.
  Page<ListedJob> list(std::optional<std::string_view> owner, std::string_view after,
                       uint32_t limit);
  /// Leases a job of the kind that is queued, or running with an expired lease: the oldest of the
  /// owner with the fewest running, except `owners_not`.
  std::optional<Job> take(std::string_view kind, int64_t lease_owner, std::chrono::milliseconds ttl,
                          const std::vector<std::string>& owners_not = {});
  /// Reports progress and renews the lease; false: the job was cancelled or the lease lost, stop.
  /// `writer`: of a checkpoint that refers to nodes, the writer that keeps them until then; false
  /// also if it is gone.
  bool report(const Job& job, int64_t lease_owner, std::chrono::milliseconds ttl,
              std::optional<int64_t> writer = {});
  /// Ends the job; false if it was cancelled or taken over.
  bool finish(const Job& job, int64_t lease_owner, JobState state);
  /// Ends the job in the caller's transaction, together with its effect.
  bool finish(db::Connection& connection, const Job& job, int64_t lease_owner, JobState state);
  /// false: it has ended already in another way. A job that ends in the transaction that makes its
  /// result visible is then not cancelled, or its result never appears.
  bool cancel(std::string_view id);
  /// Removes ended jobs older than `age`; returns how many.
  uint64_t sweep(std::chrono::milliseconds age);

 private:
  db::Pool& pool_;
  const Clock& clock_;
};

}  // namespace tarn::jobs
