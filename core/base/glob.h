// Shell patterns over names and object paths.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tarn {

/// Longest pattern in bytes; a match visits at most a few states per byte of it for each character.
constexpr size_t kGlobBytesMax = 1024;
/// Deepest nesting of braces.
constexpr size_t kGlobNestingMax = 8;

/// A compiled pattern; it matches whole texts, character by character (code points; a byte that is
/// no UTF-8 is a character of its own):
///   ?      one character but '/'             [a-z] [!a-z]  one character in or not in the class
///   *      any characters but '/'            {a,b*}        either pattern, nested as well
///   **     any characters                    \             the next character as it is
/// A segment that is `**` may be missing: `**/a` matches "a" too. Time is linear in the text, and
/// in the pattern. Immutable.
class Glob {
 public:
  /// The error in a pattern, with the byte offset; "" = none.
  static std::string problem(std::string_view pattern);

  /// Throws invalid_argument with the problem.
  explicit Glob(std::string_view pattern);

  bool matches(std::string_view text) const;
  const std::string& pattern() const { return pattern_; }
  /// The common prefix and suffix of all matches, and texts that every match contains in this order
  /// (the first and the last may be the prefix and the suffix). Necessary, not sufficient.
  const std::string& prefix() const { return prefix_; }
  const std::string& suffix() const { return suffix_; }
  const std::vector<std::string>& literals() const { return literals_; }
  bool operator==(const Glob& other) const { return pattern_ == other.pattern_; }

 private:
  friend class GlobCompiler;
  Glob() = default;

  struct Step {
    enum class Kind : uint8_t { kCharacter, kAnyButSlash, kAny, kClass, kSplit, kEnd };
    Kind kind = Kind::kEnd;
    uint32_t value = 0;  ///< the character, the index of the class, or a split's first target
    uint32_t other = 0;  ///< a split's second target
  };
  struct Class {
    bool negated = false;
    std::vector<std::pair<uint32_t, uint32_t>> ranges;  ///< inclusive
    bool holds(uint32_t character) const;
  };

  bool step_takes(const Step& step, uint32_t character) const;

  std::string pattern_;
  std::string prefix_;         ///< the text that every match begins with
  uint32_t after_prefix_ = 0;  ///< the next state
  std::string suffix_;
  std::vector<std::string> literals_;
  std::vector<Step> steps_;  ///< a step that takes a character leads to the next one
  std::vector<Class> classes_;
};

}  // namespace tarn
