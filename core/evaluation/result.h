// The result of an evaluation: the values of single examples, as a runner sends them.
//
// Each line is a JSON object: {"id": "7", "values": {"accuracy": 1}, "slices": ["night"]}. All
// lines have the same names of values; `slices` may be absent. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/evaluation/evaluation.h"

namespace tarn::evaluation {

constexpr size_t kResultBytesMax = 64 << 20;
constexpr size_t kExamplesMax = 1'000'000;
constexpr size_t kExampleIdBytesMax = 255;
constexpr size_t kResultMetricsMax = 16;
constexpr size_t kResultSlicesMax = 256;
constexpr size_t kSlicesOfExampleMax = 16;
constexpr size_t kSliceNameBytesMax = 64;
/// Values of all metrics and slices of one result: 80 MB.
constexpr size_t kResultNumbersMax = 10'000'000;

struct ResultValues {
  Mean mean;
  std::vector<double> numbers;  ///< in the order of the ids
};

struct Result {
  uint64_t examples = 0;
  std::string ids;     ///< in order; each a varint of its length, then its bytes
  std::string digest;  ///< SHA-256, 32 bytes, of ids with their slices
  std::vector<ResultValues> values;
};

/// Throws invalid_argument (reason "evaluation_invalid"), with the line.
Result parse_result(std::string_view lines);

/// The ids of Result::ids. Throws data_loss.
std::vector<std::string> ids_from(std::string_view bytes);

/// The metric name of a mean: "accuracy", "slice.night.accuracy".
std::string metric_name(const Mean& mean);

}  // namespace tarn::evaluation
