// A measurement of one candidate: `predict` and `score`, each in a sandbox.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "cli/evaluation/sandbox.h"

namespace tarn::cli {

/// A folder for the files of one measurement, removed by the destructor.
class ScratchFolder {
 public:
  /// Below `parent`; "" = where the system has temporary files. Throws not_found.
  explicit ScratchFolder(std::filesystem::path parent);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct Measurement {
  std::filesystem::path data;  ///< the folder with labels, which `score` alone sees
  std::filesystem::path inputs;
  std::filesystem::path candidate;
  std::filesystem::path predict;  ///< a file of the machine; "" = `score` sees the candidate
  std::string score;              ///< relative to `data`
};

struct MeasurementEnd {
  std::string_view phase;  ///< predict or score: the last that ran
  ProgramEnd end;
  std::filesystem::path result;  ///< the file that `score` wrote
};

/// Runs both programs, in the time of `limits` together; the other limits are those of each. `work`
/// is empty, and gets what they write. Throws what run_in_sandbox throws.
MeasurementEnd measure(const SandboxSettings& settings, const Measurement& measurement,
                       SandboxLimits limits, const std::filesystem::path& work,
                       const std::function<bool()>& stop);

}  // namespace tarn::cli
