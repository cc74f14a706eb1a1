#include "core/base/glob.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn {
namespace {

/// Bytes that are not UTF-8 map to values above all code points.
constexpr uint32_t kBadByte = 0x110000;

/// Removes the first character of `text`, which is not empty.
uint32_t take_character(std::string_view& text) {
  const auto lead = static_cast<uint8_t>(text.front());
  if (lead < 0x80) {
    text.remove_prefix(1);
    return lead;
  }
  const size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (length > text.size() || !is_utf8(text.substr(0, length))) {
    text.remove_prefix(1);
    return kBadByte + lead;
  }
  uint32_t character = lead & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    character = (character << 6) | (static_cast<uint8_t>(text[i]) & 0x3fu);
  }
  text.remove_prefix(length);
  return character;
}

}  // namespace

/// Compiles a pattern in one pass and appends its steps.
class GlobCompiler {
 public:
  explicit GlobCompiler(std::string_view pattern) : whole_(pattern), left_(pattern) {}

  /// The result is invalid if `problem` is not empty afterwards.
  Glob compile() {
    if (whole_.size() > kGlobBytesMax) {
      problem = str_cat("is longer than ", kGlobBytesMax, " bytes");
    } else if (!is_utf8(whole_)) {
      problem = "is not UTF-8";
    } else {
      read_sequence(0);
    }
    add(Kind::kEnd);
    glob_.pattern_ = whole_;
    if (in_literal_) glob_.suffix_ = glob_.literals_.back();
    find_prefix();
    return std::move(glob_);
  }

  std::string problem;

 private:
  using Step = Glob::Step;
  using Kind = Step::Kind;

  uint32_t here() const { return static_cast<uint32_t>(glob_.steps_.size()); }
  uint32_t add(Kind kind, uint32_t value = 0, uint32_t other = 0) {
    glob_.steps_.push_back({kind, value, other});
    return here() - 1;
  }
  /// A step that continues at either target; the targets may be set later.
  uint32_t add_split(uint32_t first = 0, uint32_t second = 0) {
    return add(Kind::kSplit, first, second);
  }
  void fail(std::string_view why) {
    if (problem.empty()) problem = str_cat(why, " at byte ", whole_.size() - left_.size());
  }
  bool take(std::string_view text) {
    if (!left_.starts_with(text)) return false;
    left_.remove_prefix(text.size());
    return true;
  }

  /// Reads up to the end, or inside braces up to the ',' or '}' that ends the alternative.
  void read_sequence(size_t depth) {
    while (problem.empty() && !left_.empty()) {
      if (depth > 0 && (left_.front() == ',' || left_.front() == '}')) return;
      read_one(depth);
    }
  }

  void read_one(size_t depth) {
    const bool went_on = std::exchange(in_literal_, false);
    if (left_.starts_with("**")) return read_stars();
    if (take("*")) return add_loop(Kind::kAnyButSlash);
    if (take("?")) {
      add(Kind::kAnyButSlash);
    } else if (left_.front() == '[') {
      read_class();
    } else if (left_.front() == '{') {
      read_alternatives(depth + 1);
    } else {
      read_character(depth, went_on);
    }
  }

  void read_character(size_t depth, bool goes_on) {
    const std::string_view before = left_.substr(left_.front() == '\\' ? 1 : 0);
    const auto character = read_plain();
    if (!character) return;
    add(Kind::kCharacter, *character);
    if (depth > 0) return;
    if (!goes_on) glob_.literals_.emplace_back();
    glob_.literals_.back() += before.substr(0, before.size() - left_.size());
    in_literal_ = true;
  }

  /// One character, literal after a backslash. nullopt: the pattern ends in a backslash.
  std::optional<uint32_t> read_plain() {
    if (left_.front() == '\\' && left_.size() == 1) {
      fail("'\\' with nothing behind it");
      return std::nullopt;
    }
    take("\\");
    return take_character(left_);
  }

  void read_stars() {
    const size_t at = whole_.size() - left_.size();
    while (take("*")) {
    }
    const bool segment = (at == 0 || whole_[at - 1] == '/') && take("/");
    if (!segment) return add_loop(Kind::kAny);
    const uint32_t split = add_split(here() + 1);
    add_loop(Kind::kAny);
    add(Kind::kCharacter, '/');
    glob_.steps_[split].other = here();
  }

  void add_loop(Kind kind) {
    const uint32_t split = add_split(here() + 1, here() + 3);
    add(kind);
    add_split(split, split);
  }

  void read_class() {
    const size_t open = left_.size();
    take("[");
    Glob::Class made;
    made.negated = take("!") || take("^");
    bool first = true;
    while (!left_.empty() && (first || left_.front() != ']')) {
      first = false;
      const auto low = read_plain();
      if (!low) return;
      uint32_t high = *low;
      if (left_.size() > 1 && left_[0] == '-' && left_[1] != ']') {
        take("-");
        const auto end = read_plain();
        if (!end) return;
        high = *end;
      }
      if (high < *low) return fail("a range of a class that ends before it begins");
      made.ranges.emplace_back(*low, high);
    }
    if (!take("]")) {
      left_ = whole_.substr(whole_.size() - open);
      return fail("'[' without ']'");
    }
    add(Kind::kClass, static_cast<uint32_t>(glob_.classes_.size()));
    glob_.classes_.push_back(std::move(made));
  }

  void read_alternatives(size_t depth) {
    if (depth > kGlobNestingMax) {
      return fail(str_cat("braces nested deeper than ", kGlobNestingMax));
    }
    const size_t open = left_.size();
    take("{");
    std::vector<uint32_t> ends;
    for (bool more = true; more && problem.empty();) {
      const uint32_t split = add_split(here() + 1);
      read_sequence(depth);
      more = take(",");
      if (!more) {
        // The last alternative has no other.
        glob_.steps_[split].other = split + 1;
        break;
      }
      ends.push_back(add_split());
      glob_.steps_[split].other = here();
    }
    if (problem.empty() && !take("}")) {
      left_ = whole_.substr(whole_.size() - open);
      return fail("'{' without '}'");
    }
    for (const uint32_t end : ends) glob_.steps_[end] = {Kind::kSplit, here(), here()};
  }

  /// Determines the prefix that all matches have in common.
  void find_prefix() {
    std::string_view left = whole_;
    while (glob_.after_prefix_ < glob_.steps_.size() &&
           glob_.steps_[glob_.after_prefix_].kind == Kind::kCharacter) {
      if (left.front() == '\\') left.remove_prefix(1);
      const std::string_view before = left;
      take_character(left);
      glob_.prefix_ += before.substr(0, before.size() - left.size());
      ++glob_.after_prefix_;
    }
  }

  const std::string_view whole_;
  std::string_view left_;
  bool in_literal_ = false;  ///< the last step is a character that every match contains
  Glob glob_;
};

std::string Glob::problem(std::string_view pattern) {
  GlobCompiler compiler(pattern);
  compiler.compile();
  return compiler.problem;
}

Glob::Glob(std::string_view pattern) {
  GlobCompiler compiler(pattern);
  *this = compiler.compile();
  if (!compiler.problem.empty()) {
    throw_invalid(str_cat("pattern \"", pattern, "\": ", compiler.problem));
  }
}

bool Glob::Class::holds(uint32_t character) const {
  const bool inside = std::any_of(ranges.begin(), ranges.end(), [&](const auto& range) {
    return range.first <= character && character <= range.second;
  });
  return inside != negated;
}

bool Glob::step_takes(const Step& step, uint32_t character) const {
  switch (step.kind) {
    case Step::Kind::kCharacter:
      return step.value == character;
    case Step::Kind::kAnyButSlash:
      return character != '/';
    case Step::Kind::kAny:
      return true;
    case Step::Kind::kClass:
      return character != '/' && classes_[step.value].holds(character);
    case Step::Kind::kSplit:
    case Step::Kind::kEnd:
      return false;
  }
  return false;
}

bool Glob::matches(std::string_view text) const {
  if (!text.starts_with(prefix_)) return false;
  text.remove_prefix(prefix_.size());
  // All states that the text so far can lead to, without duplicates: no choice is tried twice.
  std::vector<uint32_t> at;
  std::vector<uint32_t> next;
  std::vector<uint32_t> open;
  std::vector<size_t> reached(steps_.size(), 0);
  size_t round = 1;
  const auto enter = [&](std::vector<uint32_t>& states, uint32_t state) {
    open.push_back(state);
    while (!open.empty()) {
      const uint32_t one = open.back();
      open.pop_back();
      if (reached[one] == round) continue;
      reached[one] = round;
      if (steps_[one].kind == Step::Kind::kSplit) {
        open.push_back(steps_[one].value);
        open.push_back(steps_[one].other);
      } else {
        states.push_back(one);
      }
    }
  };
  enter(at, after_prefix_);
  while (!text.empty() && !at.empty()) {
    const uint32_t character = take_character(text);
    ++round;
    for (const uint32_t state : at) {
      if (step_takes(steps_[state], character)) enter(next, state + 1);
    }
    at.swap(next);
    next.clear();
  }
  return std::any_of(at.begin(), at.end(),
                     [&](uint32_t state) { return steps_[state].kind == Step::Kind::kEnd; });
}

}  // namespace tarn
