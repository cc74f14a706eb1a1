#include "core/runs/metric_files.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "core/base/digest.h"
#include "core/base/error.h"
#include "core/base/fault_point.h"
#include "core/base/glob.h"
#include "core/base/number.h"
#include "core/base/str_cat.h"
#include "core/base/wire.h"
#include "core/meta/node_store.h"
#include "core/metrics/files/byte_source.h"
#include "core/metrics/files/file_reading.h"
#include "core/metrics/files/metric_file.h"
#include "core/metrics/files/mlflow_run.h"
#include "core/metrics/files/part_files.h"
#include "core/metrics/run.h"
#include "core/objects/objects.h"
#include "core/runs/extraction.h"
#include "core/runs/metric_file_store.h"
#include "core/tree/cursor.h"

namespace tarn::runs {
namespace {

constexpr size_t kValueShownMax = 60;

using Files = std::map<std::string, Entry>;

void warn(Measurements& into, std::string text) {
  if (into.warnings.size() < kCommitWarningsMax) {
    into.warnings.push_back(std::move(text));
  } else if (into.warnings.size() == kCommitWarningsMax) {
    into.warnings.push_back("there are more warnings");
  }
}

/// Converts the value of a metadata key to a metric.
void add_metadata_metric(const Commit& commit, std::string_view name, const std::string& key,
                         std::string_view value, Measurements& into) {
  const auto number = parse_number(value);
  if (number) {
    into.metrics.push_back(
        {std::string(name), *number, MetricOrigin::kCommitMetadata, key, "", commit.created});
  } else {
    std::string shown(value.substr(0, kValueShownMax));
    if (shown.size() < value.size()) shown = "its value";  // never cut inside a character
    warn(into, str_cat("commit metadata \"", key, "\": ", shown, " is no number"));
  }
}

/// The keys without a prefix, as parameters.
void read_plain_params(const Commit& commit, Measurements& into) {
  if (commit.metadata.contains(kCherryPickOrigin)) return;
  size_t found = 0;
  for (const auto& [key, value] : commit.metadata) {
    const bool of_a_program = key.empty() || std::ispunct(static_cast<unsigned char>(key[0])) != 0;
    if (of_a_program || is_measured(key) || key.size() > kParamNameBytesMax) continue;
    if (value.size() > kParamValueBytesMax) {
      warn(into, str_cat("commit metadata \"", key, "\": longer than ", kParamValueBytesMax,
                         " bytes, which is no parameter"));
      continue;
    }
    if (++found > kRunParamsMax) {
      warn(into, str_cat("commit metadata: more than ", kRunParamsMax,
                         " parameters: the others are left out"));
      return;
    }
    into.params.push_back({key, value, MetricOrigin::kCommitMetadata, key, commit.created});
  }
}

/// The matching files, by path. Every pattern starts with literal text, and only files below that
/// are examined.
Files find_files(branch::Engine& engine, const Commit& commit,
                 const std::vector<std::string>& globs, const std::vector<std::string>& known,
                 Measurements& into) {
  Files files;
  uint64_t seen = 0;
  const std::vector<Glob> excluded(known.begin(), known.end());
  for (const std::string& pattern : globs) {
    const Glob glob(pattern);
    tree::Cursor cursor(engine.nodes, commit.root);
    for (cursor.seek(glob.prefix()); cursor.valid() && cursor.key().starts_with(glob.prefix());
         cursor.next()) {
      if (++seen > kMetricPathsSeenMax) {
        warn(into, str_cat("glob \"", pattern, "\": more than ", kMetricPathsSeenMax,
                           " paths to look at, stopped at ", cursor.key()));
        return files;
      }
      const std::string& path = cursor.key();
      if (metric_file_kind(path) == MetricFileKind::kNone || !glob.matches(path)) continue;
      const auto matches = [&](const Glob& other) { return other.matches(path); };
      if (std::any_of(excluded.begin(), excluded.end(), matches)) continue;
      if (files.size() == kMetricFilesMax && !files.contains(path)) {
        warn(into, str_cat("glob \"", pattern, "\": more than ", kMetricFilesMax,
                           " metric files, those from ", path, " on are left out"));
        return files;
      }
      files.emplace(path, cursor.entry());
    }
  }
  return files;
}

void leave_out_older_parts(Files& files, Measurements& into) {
  std::vector<DatedPath> dated;
  for (const auto& [path, entry] : files) dated.push_back({path, entry.mtime});
  for (const std::string& path : older_parts(dated)) {
    files.erase(path);
    warn(into, str_cat(path, ": is left over from an older job: left out"));
  }
}

/// Skips runs of MLflow that were deleted or that failed: it keeps their files.
void leave_out_unusable_runs(branch::Engine& engine, const Repository& repository,
                             const Commit& commit, Files& files, Measurements& into) {
  std::map<std::string, std::string_view> problems;  // by the path of meta.yaml
  const auto problem_of = [&](const std::string& meta) {
    const auto [at, is_new] = problems.try_emplace(meta);
    if (!is_new) return at->second;
    const auto entry = tree::find_entry(engine.nodes, commit.root, meta);
    if (!entry) return std::string_view();
    std::string text(std::min<uint64_t>(entry->size_bytes, kMlflowMetaBytesMax), '\0');
    const auto reader = objects::open_object(engine, repository, *entry, {0, text.size()});
    size_t had = 0;
    while (const size_t count = reader->read(std::span(text).subspan(had))) had += count;
    text.resize(had);
    return at->second = mlflow_run_problem(text);
  };
  std::erase_if(files, [&](const auto& file) {
    for (const std::string& meta : mlflow_meta_paths(file.first)) {
      const std::string_view problem = problem_of(meta);
      if (problem.empty()) continue;
      warn(into, str_cat(file.first, ": by ", meta, " its run ", problem, ": left out"));
      return true;
    }
    return false;
  });
}

void read_file(branch::Engine& engine, const Repository& repository, const Entry& entry,
               uint64_t bytes_max, FileFacts& facts) {
  // Reads one byte more than the limit, to notice a larger file.
  const uint64_t range_bytes = std::min(entry.size_bytes, bytes_max + 1);
  const auto reader = objects::open_object(engine, repository, entry, {0, range_bytes});
  ByteSource bytes([&](std::span<char> out) { return reader->read(out); }, bytes_max);
  read_metric_file(metric_file_kind(facts.path()), bytes, facts);
}

/// A hash of path and content: with this version of the readers, equal ids give equal results.
std::string file_id(const std::string& path, const Entry& entry) {
  std::string text(kReadersVersion);
  put_bytes(text, path);
  put_varint(text, entry.size_bytes);
  put_bytes(text, entry.etag);
  put_bytes(text, encode_address(entry.address));
  put_bytes(text, entry.extras.get(ExtraTag::kSourceVersion));
  return sha256(text);
}

class Collector {
 public:
  explicit Collector(Measurements& into) : into_(into) {}

  /// Whether the commit may store the curves of this file too; warns if not.
  bool takes_curves(const std::string& path, const FileReading& reading) {
    if (points_ + reading.points <= kCommitPointsMax) {
      points_ += reading.points;
      return true;
    }
    warn_once(str_cat(path, ": the commit's curves have more than ", kCommitPointsMax,
                      " points: those of this file are left out"));
    return false;
  }

  void add(const std::string& path, const FileReading& reading, Instant written) {
    for (const FileReading::Measured& measured : reading.measured) {
      if (into_.metrics.size() >= kCommitMetricsMax) {
        warn_once(str_cat(path, ": the commit has more than ", kCommitMetricsMax,
                          " metrics: the others are left out"));
        break;
      }
      into_.metrics.push_back(
          {measured.name, measured.last, MetricOrigin::kFile, path, measured.split, written});
    }
    for (const auto& [name, value] : reading.params) {
      into_.params.push_back({name, value, MetricOrigin::kFile, path, written});
    }
    for (const std::string& warning : reading.warnings) warn(into_, warning);
  }

 private:
  void warn_once(std::string text) {
    if (!warned_) warn(into_, std::move(text));
    warned_ = true;
  }

  Measurements& into_;
  size_t points_ = 0;
  bool warned_ = false;
};

/// Reads the files of one commit, or reuses the stored results of identical files.
class FileReader {
 public:
  FileReader(branch::Engine& engine, const Repository& repository, const Files& files,
             Measurements& into)
      : engine_(engine),
        repository_(repository),
        known_files_(engine.pool),
        into_(into),
        collector_(into) {
    std::vector<std::string> ids;
    for (const auto& [path, entry] : files) ids.push_back(file_id(path, entry));
    known_ = known_files_.find(repository.id, ids);
  }

  void read(const std::string& path, const Entry& entry, uint64_t bytes_max) {
    const bool whole = bytes_max >= std::min(entry.size_bytes, kMetricFileBytesMax);
    const std::string id = whole ? file_id(path, entry) : std::string();
    if (const auto known = known_.find(id); known != known_.end()) {
      if (collector_.takes_curves(path, known->second)) into_.files.emplace(path, id);
      collector_.add(path, known->second, entry.mtime);
      return;
    }
    FileFacts facts(path);
    const bool complete = read_into(entry, bytes_max, facts);
    fault_point("extraction.file_read");
    const FileReading reading = reading_of(facts);
    if (whole && complete && collector_.takes_curves(path, reading)) {
      known_files_.store(repository_.id, id, facts);
      into_.files.emplace(path, id);
    }
    collector_.add(path, reading, entry.mtime);
  }

 private:
  /// Returns false if the bytes are not available.
  bool read_into(const Entry& entry, uint64_t bytes_max, FileFacts& facts) {
    try {
      read_file(engine_, repository_, entry, bytes_max, facts);
      return true;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kUnavailable) throw;
      facts.warn(error.message());
      return false;
    }
  }

  branch::Engine& engine_;
  const Repository& repository_;
  MetricFileStore known_files_;
  Measurements& into_;
  Collector collector_;
  std::map<std::string, FileReading> known_;
};

}  // namespace

void read_metadata(const Commit& commit, Measurements& into) {
  for (const auto& [key, value] : commit.metadata) {
    if (!is_measured(key)) continue;
    const bool is_metric = key.starts_with(kMetricPrefix);
    const std::string name = key.substr((is_metric ? kMetricPrefix : kParamPrefix).size());
    if (name.empty() || name.size() > kMetricNameBytesMax) {
      warn(into, str_cat("commit metadata \"", key.substr(0, kMetricPrefix.size()),
                         "...\": a name must have 1 to ", kMetricNameBytesMax, " bytes"));
    } else if (is_metric) {
      add_metadata_metric(commit, name, key, value, into);
    } else {
      into.params.push_back({name, value, MetricOrigin::kCommitMetadata, key, commit.created});
    }
  }
  const auto names_param = [](const auto& pair) { return pair.first.starts_with(kParamPrefix); };
  if (std::none_of(commit.metadata.begin(), commit.metadata.end(), names_param)) {
    read_plain_params(commit, into);
  }
}

void read_bare_metadata(const Commit& commit, const std::vector<std::string>& names,
                        Measurements& into) {
  if (commit.metadata.contains(kCherryPickOrigin)) return;
  for (const std::string& name : std::set<std::string>(names.begin(), names.end())) {
    const auto at = commit.metadata.find(name);
    if (at == commit.metadata.end()) continue;
    add_metadata_metric(commit, name, name, at->second, into);
  }
}

void read_metric_files(branch::Engine& engine, const Repository& repository, const Commit& commit,
                       const std::vector<std::string>& globs, const std::vector<std::string>& known,
                       Measurements& into) {
  Files files = find_files(engine, commit, globs, known, into);
  leave_out_unusable_runs(engine, repository, commit, files, into);
  leave_out_older_parts(files, into);
  FileReader reader(engine, repository, files, into);
  uint64_t bytes_left = kMetricFilesBytesMax;
  for (const auto& [path, entry] : files) {
    if (entry.size_bytes == 0) continue;
    if (bytes_left == 0) {
      warn(into, str_cat(path, ": more than ", kMetricFilesBytesMax,
                         " bytes of metric files, those from here on are left out"));
      break;
    }
    // A file with stored results counts as if it was read, so that the result is the same.
    reader.read(path, entry, std::min(bytes_left, kMetricFileBytesMax));
    bytes_left -= std::min({bytes_left, entry.size_bytes, kMetricFileBytesMax});
  }
}

}  // namespace tarn::runs
