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
  /// Commands and options that begin like the last word.
  std::vector<Candidate> candidates{};
  /// Whose value the last word begins: an argument ("BRANCH") or an option by its long name
  /// ("--branch"); "" = of none.
  std::string value_of{};
  /// The last word: what is not part of the value ("--branch=", or ""), and the beginning of the
  /// value.
  std::string lead{};
  std::string value{};
  /// Options with values before it, by their long names.
  std::vector<std::pair<std::string, std::string>> given{};
};

/// `words` are those behind the program's name; the last is the one that is being typed, "" when
/// nothing of it is there. Unknown words are ignored.
Completion complete(const CommandNote& root, const std::vector<std::string>& words);

/// The script that makes a shell ask `tarn complete`. Throws a usage error for a shell other than
/// bash, zsh and fish.
std::string_view completion_script(std::string_view shell);

}  // namespace tarn::cli
