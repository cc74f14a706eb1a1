// Conditions joined by and, or and not, as users write them (docs/search.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/glob.h"
#include "core/base/time.h"
#include "core/search/field.h"

namespace tarn::search {

/// Maximum length of an expression.
constexpr size_t kExpressionBytesMax = 4096;
/// Conditions, where each value of a list counts as one.
constexpr size_t kExpressionTermsMax = 64;
/// Parentheses and `not` within one another.
constexpr size_t kExpressionDepthMax = 32;

enum class Comparison : uint8_t {
  kEqual,
  kUnequal,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
};

/// The comparison that holds where this one does not.
Comparison opposite(Comparison comparison);

/// A comparison with a value holds only for objects that have the field.
struct Condition {
  Field field;
  Comparison comparison = Comparison::kEqual;  ///< unless the value is a pattern or absent
  /// Bytes for size, a moment for modified; of other fields a number (compared with values that are
  /// numbers), a text (compared by bytes) or a pattern. monostate: the field is there at all.
  std::variant<std::monostate, uint64_t, Instant, double, std::string, Glob> value;

  bool matches(const Subject& subject) const;
};

/// A node of the tree of conditions.
struct Expression {
  enum class Kind : uint8_t { kCondition, kAll, kAny, kNot };
  Kind kind = Kind::kCondition;
  Condition condition{};            ///< of kCondition
  std::vector<Expression> parts{};  ///< of kAll and kAny two or more, of kNot one

  bool matches(const Subject& subject) const;
  /// The text that the path of every match begins with.
  std::string prefix() const;
  /// Whether a condition is about an object tag.
  bool asks_for_tags() const;
};

/// Throws invalid_argument with the message of problem_of_expression.
Expression parse_expression(std::string_view text);
/// The problem with the text, with the byte offset and the expected input; "" = none.
std::string problem_of_expression(std::string_view text);

}  // namespace tarn::search
