// A metric: a measured number of a commit, with its origin.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"

namespace tarn {

/// Origin of a metric. Numbers are stored: add at the end.
enum class MetricOrigin : uint8_t {
  kApi,             ///< a recorded run
  kCommitMetadata,  ///< a key of the commit's metadata
  kFile,            ///< a file in the commit
  kCheck,           ///< reported by a check of a promotion, from outside the candidate
  kEvaluation,      ///< measured by a runner, because a policy asks for it
  kPolicy,          ///< computed by a gate policy from other values; never stored as a measurement
};
std::string_view name_of(MetricOrigin origin);  ///< for example "commit-metadata"
std::optional<MetricOrigin> parse_metric_origin(std::string_view name);

/// One of several measurements of a commit, told apart by the value of a parameter.
struct Replicate {
  std::string key;  ///< the value of the parameter, for example the seed
  double value = 0;
  std::string run{};  ///< id
  std::string reporter{};
  std::string ignored{};  ///< the reason why it does not count; "" = it counts
};
/// Ignored measurements that are listed.
constexpr size_t kReplicatesIgnoredMax = 20;

struct Replicates {
  std::string by;                    ///< name of the parameter; "" = the value is a single one
  std::vector<Replicate> counted{};  ///< the first recorded first
  std::vector<Replicate> ignored{};  ///< the first kReplicatesIgnoredMax
  uint64_t ignored_count = 0;        ///< all
};

struct Metric {
  std::string name;
  double value = 0;  ///< may be NaN or infinite
  MetricOrigin origin = MetricOrigin::kApi;
  /// Where exactly: the run's id, the metadata key, the file's path, the check's name, the name of
  /// the evaluation, the computation.
  std::string source;
  std::string split{};     ///< for example "validation"; "" = none
  Instant measured{};      ///< within an origin the newest counts
  std::string reporter{};  ///< of a run: the user who recorded it
  /// The id of that user, which no later user of the same name has; 0 = it was not known.
  int32_t reporter_id = 0;
  /// Remeasured for a champion by a user whom the policy names: it counts whatever sources a rule
  /// trusts.
  bool remeasured = false;
  /// The champion's promotion and this measurement are too long ago to compare with it.
  bool stale = false;
  std::optional<double> replaced{};  ///< the value that it replaces; nullopt if there was none
  /// Why the policy caps the value of this champion, which is in `replaced`; "" = it does not.
  std::string cap_reason{};
  Replicates replicates{};  ///< the value is their mean

  /// Values of single examples of an evaluation, in an order that all results on the same data
  /// share. Only where a rule compares examples.
  std::shared_ptr<const std::vector<double>> numbers{};
  uint64_t examples = 0;     ///< of an evaluation: how many; 0 = it is of no evaluation
  std::string evaluation{};  ///< its key in hex
  int64_t seed = 0;          ///< of an evaluation: of its tests

  /// "api", "commit-metadata", "file:<path>", "check:<name>", "evaluation:<name>",
  /// "policy:<computation>".
  std::string origin_text() const;
};

constexpr size_t kMetricNameBytesMax = 255;

/// Metadata keys of a commit with measurements of its tree: "metric.NAME" and "param.NAME".
constexpr std::string_view kMetricPrefix = "metric.";
constexpr std::string_view kParamPrefix = "param.";
inline bool is_measured(std::string_view key) {
  return key.starts_with(kMetricPrefix) || key.starts_with(kParamPrefix);
}

}  // namespace tarn
