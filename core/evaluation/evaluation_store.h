// Rows of evaluations: what was asked for, who measures it, and the results.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/db/pool.h"
#include "core/evaluation/evaluation.h"
#include "core/evaluation/result.h"
#include "core/model/page.h"

namespace tarn::evaluation {

/// A runner that has not renewed its lease for this long is lost.
constexpr std::chrono::seconds kRunnerLease{60};
/// Runners that may be lost with one evaluation; then it has failed.
constexpr int32_t kRunnersLostMax = 3;
/// Evaluations of a repository that wait or are measured; more are asked for later.
constexpr int64_t kEvaluationsOpenMax = 1'000;

/// Safe from any thread. Times are those of the database.
class EvaluationStore {
 public:
  explicit EvaluationStore(db::Pool& pool) : pool_(pool) {}

  /// Evaluations that were asked for before, by key, with their means.
  std::map<std::string, Evaluation> find(std::span<const std::string> keys);

  /// The limit of one author; of the champion there is none.
  struct Budget {
    uint32_t per_author = 0;  ///< 0 = no limit
    std::chrono::milliseconds period{};
  };
  enum class Asked {
    kDone,         ///< also: somebody else has asked for it
    kBudgetSpent,  ///< of `asked_by`, the first that has spent it is `who`
    kQueueFull,    ///< kEvaluationsOpenMax
  };
  struct Answer {
    Asked outcome = Asked::kDone;
    std::string who{};
  };
  Answer ask(const Evaluation& wanted, std::string_view definition, const Budget& budget);

  /// Repositories with evaluations that a runner may take, by id and name.
  std::vector<std::pair<RepositoryId, RepositoryName>> waiting();
  /// A lease of the oldest that one of these repositories has and a runner with these labels may
  /// run; those of lost runners return to the queue first.
  struct Lease {
    Evaluation evaluation;
    std::string token;
  };
  std::optional<Lease> take(const std::vector<RepositoryId>& repositories,
                            const std::vector<std::string>& labels, std::string_view runner);
  /// The evaluation whose lease has the token; nullopt: it is over.
  std::optional<Evaluation> held(std::string_view key, std::string_view token);
  bool renew(std::string_view key, std::string_view token);
  /// Gives it back to the queue.
  bool release(std::string_view key, std::string_view token);
  enum class Ended {
    kDone,
    kLeaseLost,
    kExamplesDiffer,  ///< the definition's first result has others; it stays leased
  };
  /// These make the open promotions of the repository due.
  Ended finish(std::string_view key, std::string_view token, const Result& result, int64_t seed);
  bool fail(std::string_view key, std::string_view token, std::string_view phase,
            std::string_view code, std::string_view detail);
  /// Queues a failed one again. false: there is none, or it has not failed.
  bool retry(RepositoryId repository, std::string_view key);

  /// The newest first; `after` is a key.
  Page<Evaluation> list(RepositoryId repository, std::string_view after, uint32_t limit);
  std::optional<Evaluation> find(RepositoryId repository, std::string_view key);
  /// Values of one metric, in the order of the ids.
  std::vector<double> numbers(std::string_view key, std::string_view metric,
                              std::string_view slice);
  std::vector<std::string> ids(std::string_view key);

 private:
  db::Pool& pool_;
};

}  // namespace tarn::evaluation
