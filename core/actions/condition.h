// The `if` of a hook: a small language of conditions on earlier hooks.
#pragma once

#include <string_view>

namespace tarn::actions {

/// Longest condition in bytes and deepest nesting of parentheses and negations.
constexpr size_t kConditionBytesMax = 1024;
constexpr size_t kConditionNestingMax = 32;

/// Throws invalid_argument, with the byte offset, unless it is well formed: success() and
/// failure(), `!` or `not`, `&&` or `and`, `||` or `or`, `==` and `!=`, true, false, nil, numbers,
/// texts in quotes of either kind, parentheses.
void check_condition_text(std::string_view text);

/// `failed`: a hook before it in its action did. Throws invalid_argument also when the result, or
/// an operand of a logical operator, is neither true nor false.
bool holds(std::string_view text, bool failed);

}  // namespace tarn::actions
