#include "core/evaluation/evaluations.h"

#include <algorithm>
#include <array>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/meta/commits.h"
#include "core/meta/node_store.h"
#include "core/meta/repositories.h"
#include "core/tree/cursor.h"

namespace tarn::evaluation {
namespace {

constexpr std::array<std::string_view, 5> kFailureCodes = {"program_failed", "timeout", "memory",
                                                           "output_too_large", "output_invalid"};
constexpr std::array<std::string_view, 4> kParts = {"inputs", "data", "program", "candidate"};

[[noreturn]] void throw_lost(std::string_view key) {
  throw Error(ErrorCode::kConflict, reason::kLeaseLost,
              str_cat("evaluation ", to_hex(key), ": the lease is over, forget this work"));
}

[[noreturn]] void throw_absent(std::string_view key) {
  throw Error(ErrorCode::kNotFound, reason::kEvaluationNotFound,
              str_cat("evaluation ", to_hex(key), ": not found"));
}

/// The tree of a commit. Throws not_found: garbage collection has removed it.
TreeRoot tree_of(branch::Engine& engine, RepositoryId repository, const CommitId& commit) {
  const auto found = engine.commits.find(repository, commit);
  if (found) return found->root;
  throw Error(ErrorCode::kNotFound, reason::kCommitNotFound,
              str_cat("commit ", to_text(commit), ": not found, its data cannot be measured"));
}

/// The objects below `folder`, by the rest of their paths.
std::vector<JobFile> files_below(tree::NodeSource& nodes, const TreeRoot& root,
                                 const std::string& folder) {
  std::vector<JobFile> out;
  tree::Cursor cursor(nodes, root);
  for (cursor.seek(folder); cursor.valid() && cursor.key().starts_with(folder); cursor.next()) {
    if (out.size() == kEvaluationObjectsMax) {
      throw Error(
          ErrorCode::kInvalidArgument, reason::kTooManyObjects,
          str_cat("folder \"", folder, "\": has more than ", kEvaluationObjectsMax, " objects"));
    }
    out.push_back({cursor.key().substr(folder.size()), cursor.entry()});
  }
  return out;
}

}  // namespace

std::optional<EvaluationStore::Lease> take_job(
    branch::Engine& engine, const std::vector<std::string>& labels, std::string_view runner,
    const std::function<bool(const RepositoryName&)>& may_run) {
  EvaluationStore rows(engine.pool);
  std::vector<RepositoryId> permitted;
  for (const auto& [id, name] : rows.waiting()) {
    if (may_run(name)) permitted.push_back(id);
  }
  if (permitted.empty()) return std::nullopt;
  return rows.take(permitted, labels, runner);
}

Evaluation held_job(branch::Engine& engine, std::string_view key, std::string_view token) {
  auto held = EvaluationStore(engine.pool).held(key, token);
  if (!held) throw_lost(key);
  return *std::move(held);
}

void renew_job(branch::Engine& engine, std::string_view key, std::string_view token) {
  if (!EvaluationStore(engine.pool).renew(key, token)) throw_lost(key);
}

void release_job(branch::Engine& engine, std::string_view key, std::string_view token) {
  if (!EvaluationStore(engine.pool).release(key, token)) throw_lost(key);
}

std::optional<Part> parse_part(std::string_view name) {
  const auto at = std::find(kParts.begin(), kParts.end(), name);
  if (at == kParts.end()) return std::nullopt;
  return static_cast<Part>(at - kParts.begin());
}

JobFiles job_files(branch::Engine& engine, std::string_view key, std::string_view token,
                   Part part) {
  const Evaluation job = held_job(engine, key, token);
  const Spec& spec = job.spec;
  if (part == Part::kCandidate) {
    JobFiles out{engine.repositories.get(job.repository), {}};
    const TreeRoot root = tree_of(engine, job.repository, job.commit);
    for (auto& [path, entry] : find_objects(engine.nodes, spec.reads, root))
      out.files.push_back({path, std::move(entry)});
    return out;
  }
  JobFiles out{engine.repositories.get(spec.data), {}};
  const TreeRoot root = tree_of(engine, spec.data, spec.commit);
  switch (part) {
    case Part::kInputs:
      out.files = files_below(engine.nodes, root, spec.folder + spec.inputs);
      break;
    case Part::kProgram:
      if (const auto entry = tree::find_entry(engine.nodes, root, spec.folder + spec.predict))
        out.files.push_back({spec.predict, *entry});
      break;
    default:
      out.files = files_below(engine.nodes, root, spec.folder);
  }
  return out;
}

void finish_job(branch::Engine& engine, std::string_view key, std::string_view token,
                std::string_view lines) {
  const Evaluation job = held_job(engine, key, token);
  const Result result = parse_result(lines);
  const std::string random = random_bytes(sizeof(int64_t));
  int64_t seed = 0;
  for (const char byte : random)
    seed = static_cast<int64_t>(static_cast<uint64_t>(seed) << 8 | static_cast<uint8_t>(byte));
  switch (EvaluationStore(engine.pool).finish(key, token, result, seed)) {
    case EvaluationStore::Ended::kDone:
      return;
    case EvaluationStore::Ended::kLeaseLost:
      throw_lost(key);
    case EvaluationStore::Ended::kExamplesDiffer:
      throw Error(ErrorCode::kInvalidArgument, reason::kExamplesDiffer,
                  str_cat("result: has other examples or slices than the first result of ",
                          job.name, " on the same data; every result must have all examples"));
  }
}

bool is_failure_phase(std::string_view phase) { return phase == "predict" || phase == "score"; }

bool is_failure_code(std::string_view code) {
  return std::find(kFailureCodes.begin(), kFailureCodes.end(), code) != kFailureCodes.end();
}

void fail_job(branch::Engine& engine, std::string_view key, std::string_view token,
              const Failure& failure) {
  if (!is_failure_phase(failure.phase) || !is_failure_code(failure.code)) {
    throw_invalid("failure: phase must be predict or score, and code a known one");
  }
  if (!EvaluationStore(engine.pool)
           .fail(key, token, failure.phase, failure.code,
                 failure.detail.substr(0, kFailureDetailBytesMax)))
    throw_lost(key);
}

RepositoryName name_of_repository(branch::Engine& engine, RepositoryId repository) {
  return engine.repositories.get(repository).name;
}

Evaluation get_evaluation(branch::Engine& engine, const Repository& repository,
                          std::string_view key) {
  auto found = EvaluationStore(engine.pool).find(repository.id, key);
  if (!found) throw_absent(key);
  return *std::move(found);
}

void retry_evaluation(branch::Engine& engine, const Repository& repository, std::string_view key) {
  const Evaluation found = get_evaluation(engine, repository, key);
  if (EvaluationStore(engine.pool).retry(repository.id, key)) return;
  throw Error(ErrorCode::kConflict, reason::kEvaluationNotFailed,
              str_cat("evaluation ", to_hex(key), ": is ", name_of(found.state),
                      ", only a failed one can be measured again"));
}

std::vector<ExampleValue> example_values(branch::Engine& engine, const Repository& repository,
                                         std::string_view key, std::string_view metric) {
  EvaluationStore rows(engine.pool);
  const Evaluation found = get_evaluation(engine, repository, key);
  std::vector<double> numbers = rows.numbers(found.key, metric, "");
  if (numbers.empty()) throw_absent(key);
  std::vector<std::string> ids = rows.ids(found.key);
  std::vector<ExampleValue> out;
  for (size_t i = 0; i < std::min(ids.size(), numbers.size()); ++i)
    out.push_back({std::move(ids[i]), numbers[i]});
  return out;
}

}  // namespace tarn::evaluation
