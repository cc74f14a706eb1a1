// Rows of hook runs and of each hook's output.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/db/pool.h"
#include "core/model/hook_run.h"
#include "core/model/names.h"
#include "core/model/page.h"

namespace tarn::events {

/// Bytes of one hook's output that are kept: its start and its end.
constexpr size_t kHookOutputBytesMax = 64 * 1024;

struct HookStepOutput {
  HookStep step;
  std::string output;
};

/// Safe from any thread.
class HookRunStore {
 public:
  explicit HookRunStore(db::Pool& pool) : pool_(pool) {}

  /// A run that a request waits for, under a lease.
  void begin(RepositoryId repository, const HookRun& run, int64_t owner,
             std::chrono::milliseconds lease);
  /// A run after a change, in the transaction of the change. `occasion` is JSON that names
  /// `commits`: they are roots of garbage collection until the run ends.
  static void queue(db::Connection& connection, RepositoryId repository, const HookRun& run,
                    std::string_view occasion, std::span<const CommitId> commits);
  /// The commit that the run's change made, in the transaction that makes it.
  static void set_commit(db::Connection& connection, RepositoryId repository, std::string_view id,
                         const CommitId& commit);

  struct Taken {
    RepositoryId repository{};
    HookRun run;
    std::string occasion;
    int32_t attempts = 0;  ///< this one included
    std::string user;      ///< who set it off
  };
  /// Takes a queued run, or one that a server started and did not end: the oldest of the user with
  /// the fewest running, except `users_not`.
  std::optional<Taken> take(int64_t owner, std::chrono::milliseconds lease,
                            const std::vector<std::string>& users_not = {});
  /// false: the lease was lost.
  bool renew(RepositoryId repository, std::string_view id, int64_t owner,
             std::chrono::milliseconds lease);
  /// For another server to take at once.
  void give_back(RepositoryId repository, std::string_view id, int64_t owner);
  /// Inserts or replaces steps of a run that runs. false: the lease was lost; nothing is changed.
  bool store_steps(RepositoryId repository, std::string_view run, int64_t owner,
                   const std::vector<HookStepOutput>& steps);
  /// Ends the run, with steps that were not stored before. false: the lease was lost and another
  /// has it.
  bool finish(RepositoryId repository, const HookRun& run, int64_t owner,
              const std::vector<HookStepOutput>& steps);
  /// Fails runs of requests whose server is gone, with the message `error`.
  uint64_t fail_abandoned(Instant now, std::string_view error);
  /// Removes at most `limit` runs that ended before; returns how many.
  uint64_t sweep(Instant ended_before, uint32_t limit);

  std::optional<HookRun> find(RepositoryId repository, std::string_view id);
  struct Filter {
    std::optional<std::string> branch{};
    std::optional<CommitId> commit{};
    bool running = false;  ///< runs too that have not ended
  };
  /// The newest first.
  Page<HookRun> list(RepositoryId repository, const Filter& filter, std::string_view after,
                     uint32_t limit);
  Page<HookStep> steps(RepositoryId repository, std::string_view run, std::string_view after,
                       uint32_t limit);
  std::optional<HookStepOutput> step(RepositoryId repository, std::string_view run,
                                     std::string_view id);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::events
