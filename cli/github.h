// Results for GitHub Actions: outputs, the job's summary, annotations.
#pragma once

#include <iosfwd>
#include <string_view>
#include <utility>
#include <vector>

namespace tarn::cli {

/// Writes to the files that the environment names (GITHUB_OUTPUT, GITHUB_STEP_SUMMARY); omits those
/// that are unset. One thread at a time.
class Github {
 public:
  explicit Github(bool wanted) : wanted_(wanted) {}

  /// Outputs of the step. Values may have several lines.
  void set(const std::vector<std::pair<std::string_view, std::string>>& outputs) const;
  /// Markdown, appended to the job's summary.
  void summarise(std::string_view markdown) const;
  /// Writes an annotation to the job's log ("::error::...").
  void complain(std::ostream& talk, std::string_view message) const;

 private:
  bool wanted_;
};

}  // namespace tarn::cli
