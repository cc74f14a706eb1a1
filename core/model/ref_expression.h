// The grammar of refs: base modifier*, with ~N, ^N, @ and $. A base "@name" is an alias.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tarn {

struct RefModifier {
  enum class Kind { kAncestor, kParent };  ///< ~N along first parents, ^N the N-th parent (1-based)
  Kind kind;
  uint32_t number;
  bool operator==(const RefModifier&) const = default;
};

/// A parsed ref; nothing is resolved yet.
struct RefExpression {
  enum class View {
    kPlain,      ///< a branch's staged view for object reads, its head where a commit is needed
    kCommitted,  ///< `branch@`: the head, staging ignored
    kStaged,     ///< `branch$`: the staged view only
  };
  std::string base;
  std::vector<RefModifier> modifiers;
  View view = View::kPlain;
  bool operator==(const RefExpression&) const = default;
};

/// Throws invalid_argument: whitespace, an empty base, digits after '@' or '$', anything else after
/// '~' or '^', '@' or '$' together with another modifier or after an alias. A missing number is 1.
RefExpression parse_ref(std::string_view text);

}  // namespace tarn
