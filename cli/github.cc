#include "cli/github.h"

#include <cstdlib>
#include <fstream>
#include <ostream>
#include <string>

#include "cli/output.h"
#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::cli {
namespace {

constexpr size_t kDelimiterBytes = 12;

void append_to(const char* variable, std::string_view text) {
  const char* const path = std::getenv(variable);
  if (path == nullptr || *path == '\0') return;
  std::ofstream file(path, std::ios::app | std::ios::binary);
  file << text;
  if (!file.flush()) {
    throw Error(ErrorCode::kUnavailable,
                str_cat("--github: cannot write to ", path, ", which ", variable, " names"));
  }
}

/// The characters that GitHub's log commands interpret.
std::string escaped(std::string_view message) {
  std::string out;
  for (const char c : message) {
    switch (c) {
      case '%':
        out += "%25";
        break;
      case '\r':
        out += "%0D";
        break;
      case '\n':
        out += "%0A";
        break;
      default:
        out.push_back(c);
    }
  }
  return out;
}

}  // namespace

void Github::set(const std::vector<std::pair<std::string_view, std::string>>& outputs) const {
  if (!wanted_) return;
  std::string text;
  for (const auto& [name, value] : outputs) {
    // The delimiter is unpredictable, so a value cannot end its own output and start another.
    const std::string end = str_cat("tarn-", to_hex(random_bytes(kDelimiterBytes)));
    text += str_cat(name, "<<", end, "\n", value, "\n", end, "\n");
  }
  append_to("GITHUB_OUTPUT", text);
}

void Github::summarise(std::string_view markdown) const {
  if (wanted_) append_to("GITHUB_STEP_SUMMARY", str_cat(markdown, "\n"));
}

void Github::complain(std::ostream& talk, std::string_view message) const {
  if (wanted_) talk << "::error::" << escaped(printable_lines(message)) << '\n';
}

}  // namespace tarn::cli
