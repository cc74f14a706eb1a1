// An evaluation: a measurement of some objects of a commit, by programs and on data that somebody
// else keeps.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/glob.h"
#include "core/base/time.h"
#include "core/model/commit.h"
#include "core/model/entry.h"
#include "core/model/names.h"
#include "core/tree/node.h"

namespace tarn::evaluation {

constexpr size_t kEvaluationNameBytesMax = 64;
constexpr size_t kEvaluationLabelsMax = 16;
constexpr uint32_t kEvaluationDigitsMax = 12;
constexpr std::chrono::milliseconds kEvaluationTimeoutMax = std::chrono::hours(24);
constexpr uint64_t kEvaluationMemoryBytesMax = uint64_t{1} << 40;
/// Objects of a candidate, or of the data, that a runner gets.
constexpr uint64_t kEvaluationObjectsMax = 200'000;

/// The measurement of some objects: its data and its programs. Paths are relative to the folder.
struct Spec {
  RepositoryId data{};   ///< the repository of the data
  CommitId commit{};     ///< of the data
  std::string folder{};  ///< the data: "" = the whole tree, else with a slash at the end
  std::string inputs = "inputs/";
  std::string predict{};  ///< "" = `score` gets the candidate's objects
  std::string score{};
  std::vector<Glob> reads{};  ///< the candidate's objects
  uint32_t digits = 3;        ///< decimals of a mean, which counts as rounded
  std::chrono::milliseconds timeout = std::chrono::minutes(10);  ///< of both programs together
  uint64_t memory_bytes = uint64_t{2} << 30;
  std::vector<std::string> labels{};  ///< that a runner must have
  std::vector<int32_t> runners{};  ///< ids of users whose results count; empty = all who may run it
  bool operator==(const Spec&) const = default;
};

/// The value as people see it, and as it counts.
double rounded(double value, uint32_t digits);

/// The objects of a tree that match a pattern, by path. Throws invalid_argument (reason
/// "too_many_objects") beyond kEvaluationObjectsMax.
std::map<std::string, Entry> find_objects(tree::NodeSource& nodes,
                                          const std::vector<Glob>& patterns, const TreeRoot& root);

/// SHA-256, 32 bytes, of data and programs; `data` is the root of the data's commit.
std::string definition_of(const Spec& spec, const TreeRoot& data);
/// The key of a measurement, 32 bytes: of a repository, objects and a definition.
std::string key_of(RepositoryId repository, std::string_view definition,
                   const std::map<std::string, Entry>& objects);

enum class State : uint8_t { kQueued, kMeasuring, kMeasured, kFailed };
std::string_view name_of(State state);  ///< for example "measured"
std::optional<State> parse_state(std::string_view name);

/// The mean of one metric over all examples, or over those of one slice.
struct Mean {
  std::string metric;
  std::string slice{};  ///< "" = all examples
  double mean = 0;      ///< not rounded
  uint64_t n = 0;
  bool operator==(const Mean&) const = default;
};

struct Evaluation {
  std::string key;  ///< 32 bytes
  RepositoryId repository{};
  std::string policy;
  std::string name;
  CommitId commit{};
  Spec spec{};
  std::vector<std::string> asked_by{};
  Instant asked{};
  State state = State::kQueued;
  std::string runner{};  ///< name of the user
  int32_t runner_id = 0;
  std::optional<Instant> ended{};
  // A failure:
  std::string phase{};  ///< "predict", "score" or "runner"
  std::string code{};
  std::string detail{};  ///< what the program printed: for those who may read the data
  // A result:
  uint64_t examples = 0;
  int64_t seed = 0;
  std::vector<Mean> means{};
};

}  // namespace tarn::evaluation
