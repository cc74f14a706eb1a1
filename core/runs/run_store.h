// Rows of runs, with their metrics and parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/db/pool.h"
#include "core/metrics/run.h"
#include "core/metrics/run_query.h"
#include "core/model/names.h"
#include "core/model/page.h"

namespace tarn::runs {

/// Which runs; empty members ask for nothing.
struct RunFilter {
  std::string experiment{};
  std::optional<std::vector<std::string>> branches{};  ///< one of these
  std::string git_sha{};
  std::string name{};                 ///< a part of the name; the case of letters does not matter
  std::string state{};                ///< as to_text(RunState)
  std::set<std::string> tags{};       ///< all of these
  std::vector<RunCondition> where{};  ///< all must hold
};

/// A client's request under an idempotency key, to recognise a repeated request.
struct RunRequestKey {
  std::optional<std::string> key;
  std::string hash;  ///< of the request
};

/// The labels to replace; absent ones stay.
struct RunLabelsChange {
  std::optional<std::string> name{};
  std::optional<std::string> notes{};
  std::optional<std::set<std::string>> tags{};
};

/// Runs that have ended change in their labels alone. Safe from any thread.
class RunStore {
 public:
  explicit RunStore(db::Pool& pool) : pool_(pool) {}

  enum class Outcome {
    kMade,
    kKnown,    ///< the run of the same request under the same key
    kOther,    ///< the key has a run of another request; the started run has ended
    kForeign,  ///< another user started it
    kMissing,  ///< no such run was started in the experiment
  };
  struct Creation {
    Outcome outcome = Outcome::kMade;
    std::string id;  ///< of the run that is there now
    Instant seen{};  ///< of a run that was made
  };
  Creation create(RepositoryId repository, const Run& run, const RunRequestKey& request);

  /// Ends the running run of this id on its commit: its values count for it if the run has
  /// finished, and those that it wrote before too. `hash`: of the request.
  Creation complete(RepositoryId repository, const Run& run, std::string_view hash);

  /// Returns whether the user made the run; nullopt: it is not there.
  std::optional<bool> owned(RepositoryId repository, std::string_view id, std::string_view user);
  /// Returns whether the run is there. Throws: precondition_failed (quota).
  bool relabel(RepositoryId repository, std::string_view id, const RunLabelsChange& change);

  /// Has the objects that were measured too, which lists leave out.
  std::optional<Run> find(RepositoryId repository, std::string_view id);
  /// `after`: id of a run of the repository, "" = from the start. Runs without the metric that
  /// orders, or with NaN, come last. Metadata and files count of commits that were read under the
  /// rules with this hash.
  Page<Run> list(RepositoryId repository, const RunFilter& filter, const RunOrder& order,
                 const std::optional<RunColumns>& columns, std::string_view rules_hash,
                 std::string_view after, uint32_t limit);
  /// The runs of these ids that are there, in the order of the ids.
  std::vector<Run> find_all(RepositoryId repository, const std::vector<std::string>& ids,
                            const std::optional<RunColumns>& columns);
  /// Commits of such runs, `where` aside, that were not read under these rules: those of the newest
  /// runs first, at most `limit`.
  std::vector<CommitId> unread_commits(RepositoryId repository, const RunFilter& filter,
                                       std::string_view rules_hash, uint32_t limit);
  /// The runs with what their commits say besides, as far as that was read under these rules: at
  /// most `commit_max` metrics and parameters of each, of more the named ones first.
  std::vector<ListedRun> with_commits(RepositoryId repository, std::vector<Run> runs,
                                      std::string_view rules_hash,
                                      const std::vector<std::string>& names,
                                      const std::optional<RunColumns>& columns, size_t commit_max);
  /// The branch whose head the commit is; "" when none or more than one is there.
  std::string only_branch_at(RepositoryId repository, const CommitId& commit);
  /// "metrics.NAME", "metrics.NAME@SPLIT" and "params.NAME": the first `limit` in byte order of
  /// those that the newest `runs_max` runs recorded and those that the newest `commits_max` of
  /// their commits say, under whichever rules they were read.
  std::vector<std::string> columns(RepositoryId repository, uint32_t runs_max, uint32_t commits_max,
                                   uint32_t limit);
  /// Names that begin with `prefix` of branches that runs were recorded of, at most `limit`.
  std::vector<std::string> branches(RepositoryId repository, std::string_view prefix,
                                    uint32_t limit);

 private:
  /// Returns the bytes that it has read.
  size_t add_details(RepositoryId repository, std::span<Run> runs,
                     const std::optional<RunColumns>& columns);

  db::Pool& pool_;
};

}  // namespace tarn::runs
