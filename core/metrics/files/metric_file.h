// A reader of the metric files that training programs write.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/metrics/files/byte_source.h"
#include "core/metrics/files/file_facts.h"

namespace tarn {

/// Longest line of JSON lines, CSV and MLflow files.
constexpr size_t kMetricLineBytesMax = 1024 * 1024;
/// Longest YAML document and longest parameter file: held in memory.
constexpr size_t kYamlBytesMax = 1024 * 1024;
/// Longest TensorBoard record that is parsed; longer ones (images, graphs) are skipped.
constexpr size_t kEventBytesMax = 1024 * 1024;
/// Deepest nesting of JSON.
constexpr size_t kMetricDepthMax = 64;

enum class MetricFileKind {
  kNone,  ///< not a metric file: markers, hidden files, other formats
  kJson,
  kCsv,
  kTsv,
  kYaml,
  kMlflowMetric,
  kMlflowParam,
  kTensorBoard,
};
/// The kind of a file, by its path alone.
MetricFileKind metric_file_kind(std::string_view path);

/// Reads to the end. A file that is broken or that common loaders read differently is rejected:
/// duplicate names, malformed data, text that is not UTF-8 or begins with a byte order mark, more
/// than is read of one file. A TensorBoard file that ends in the middle counts up to
/// there. Throws only the source's exceptions.
void read_metric_file(MetricFileKind kind, ByteSource& bytes, FileFacts& facts);

// One each; read_metric_file calls them.

/// One value; of files that are named .jsonl, .ndjson or part-* one per line, then one point of
/// each metric per line. Names of nested numbers are joined by dots; elements of arrays are points.
/// Text that is a number is one; NaN and Infinity may stand bare.
void read_json(ByteSource& bytes, FileFacts& facts);
/// Reads a table with a header. A column without a name is an index. Cells that are no numbers are
/// ignored, with a warning where the column has numbers.
void read_csv(ByteSource& bytes, char delimiter, FileFacts& facts);
/// Reads YAML as one value of JSON. Anchors, merge keys, tags, directives, tabs, and numbers and
/// line ends that only one version of YAML knows are malformed.
void read_yaml(ByteSource& bytes, FileFacts& facts);
/// Lines "timestamp value step". The newest value of the highest step counts, as in MLflow.
void read_mlflow_metric(ByteSource& bytes, std::string_view name, FileFacts& facts);
/// Framed records of events; scalars only. The directory train, validation, test, eval or val is
/// the split.
void read_tensor_board(ByteSource& bytes, std::string_view split, FileFacts& facts);

/// The column or member of lines and rows that counts them: step, global_step, epoch, iteration.
bool is_step_name(std::string_view name);
/// The number as a step; nullopt unless whole and in range.
std::optional<int64_t> step_from(double value);

}  // namespace tarn
