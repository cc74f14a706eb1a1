// Rows of runs, with their metrics and parameters.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/db/pool.h"
#include "core/experiments/run.h"
#include "core/experiments/run_query.h"
#include "core/model/names.h"
#include "core/model/page.h"

namespace tarn::meta {

/// Which runs; empty members ask for nothing.
struct RunFilter {
  std::string experiment{};
  std::optional<std::vector<std::string>> branches{};  ///< one of these
  std::string git_sha{};
  std::vector<RunCondition> where{};  ///< all must hold
};

/// What a client asked for under a key, to know a repeated request by.
struct RunRequestKey {
  std::optional<std::string> key;
  std::string hash;  ///< of the request
};

/// Runs are only ever added. Safe from any thread.
class Runs {
 public:
  explicit Runs(db::Pool& pool) : pool_(pool) {}

  enum class Outcome {
    kMade,
    kKnown,  ///< the run of the same request under the same key
    kOther,  ///< the key has a run of another request
  };
  struct Creation {
    Outcome outcome = Outcome::kMade;
    std::string id;  ///< of the run that is there now
  };
  Creation create(RepositoryId repository, const Run& run, const RunRequestKey& request);

  std::optional<Run> find(RepositoryId repository, std::string_view id);
  /// `after`: id of a run of the repository, "" = from the start. Runs without the metric that
  /// orders, or with NaN, come last.
  Page<Run> list(RepositoryId repository, const RunFilter& filter, const RunOrder& order,
                 std::string_view after, uint32_t limit);
  /// Names that begin with `prefix` of branches that runs were recorded of, at most `limit`.
  std::vector<std::string> branches(RepositoryId repository, std::string_view prefix,
                                    uint32_t limit);

 private:
  void add_details(RepositoryId repository, std::vector<Run>& runs);

  db::Pool& pool_;
};

}  // namespace tarn::meta
