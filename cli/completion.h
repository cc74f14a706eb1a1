// Completion: the words that can follow on a command line.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/arguments.h"

namespace tarn::cli {

struct Candidate {
  std::string word;
  std::string help{};
  bool operator==(const Candidate&) const = default;
};

struct Completion {
  /// Commands and options that start with the last word.
  std::vector<Candidate> candidates{};
  /// The owner of the value that the last word starts: an argument ("BRANCH") or an option by its
  /// long name ("--branch"); "" = none.
  std::string value_of{};
  /// The last word: the part before the value ("--branch=", or ""), and the start of the value.
  std::string lead{};
  std::string value{};
  /// Options with values before it, by their long names.
  std::vector<std::pair<std::string, std::string>> given{};
};

/// `words` follow the program's name; the last one is being typed, "" if nothing of it is there.
/// Unknown words are ignored.
Completion complete(const CommandNote& root, const std::vector<std::string>& words);

/// The script with which a shell calls `tarn complete`. Throws a usage error for a shell other than
/// bash, zsh and fish.
std::string_view completion_script(std::string_view shell);

}  // namespace tarn::cli
