// The verbs of evaluations: the work of a runner, and reading what was measured.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/branch/engine.h"
#include "core/evaluation/evaluation_store.h"
#include "core/model/repository.h"

namespace tarn::evaluation {

/// How often waiting for work looks.
constexpr std::chrono::seconds kLookForWorkEvery{1};
constexpr size_t kFailureDetailBytesMax = 8 * 1024;

/// A lease of the oldest evaluation that the runner may take: `may_run` says of which repositories.
/// nullopt: there is none.
std::optional<EvaluationStore::Lease> take_job(
    branch::Engine& engine, const std::vector<std::string>& labels, std::string_view runner,
    const std::function<bool(const RepositoryName&)>& may_run);

/// The evaluation of a lease. Throws conflict (reason "lease_lost").
Evaluation held_job(branch::Engine& engine, std::string_view key, std::string_view token);
void renew_job(branch::Engine& engine, std::string_view key, std::string_view token);
void release_job(branch::Engine& engine, std::string_view key, std::string_view token);

/// Files that a runner gets. Numbers have no meaning.
enum class Part : uint8_t { kInputs, kData, kProgram, kCandidate };
std::optional<Part> parse_part(
    std::string_view name);  ///< "inputs", "data", "program", "candidate"
struct JobFile {
  std::string name;  ///< relative to the folder of the part
  Entry entry;
};
struct JobFiles {
  Repository repository;  ///< that the objects are read from
  std::vector<JobFile> files;
};
/// Throws conflict (reason "lease_lost"); not_found (the data or the commit is gone);
/// invalid_argument (reason "too_many_objects").
JobFiles job_files(branch::Engine& engine, std::string_view key, std::string_view token, Part part);

/// Stores the result. Throws conflict (reason "lease_lost"); invalid_argument (reason
/// "evaluation_invalid"; "examples_differ": not those of earlier results on the same data), after
/// which the lease still holds.
void finish_job(branch::Engine& engine, std::string_view key, std::string_view token,
                std::string_view lines);
/// The failure of a program, which gave no result.
struct Failure {
  std::string phase;   ///< "predict" or "score"
  std::string code;    ///< one of kFailureCodes
  std::string detail;  ///< cut at kFailureDetailBytesMax
};
bool is_failure_phase(std::string_view phase);
bool is_failure_code(std::string_view code);
void fail_job(branch::Engine& engine, std::string_view key, std::string_view token,
              const Failure& failure);

/// Throws not_found: the repository was deleted.
RepositoryName name_of_repository(branch::Engine& engine, RepositoryId repository);

/// Throws not_found (reason "evaluation_not_found").
Evaluation get_evaluation(branch::Engine& engine, const Repository& repository,
                          std::string_view key);
/// Queues a failed one again. Throws not_found; conflict (it has not failed).
void retry_evaluation(branch::Engine& engine, const Repository& repository, std::string_view key);
/// The values of one metric, "id value" pairs in the order of ids. Throws not_found.
struct ExampleValue {
  std::string id;
  double value = 0;
};
std::vector<ExampleValue> example_values(branch::Engine& engine, const Repository& repository,
                                         std::string_view key, std::string_view metric);

}  // namespace tarn::evaluation
