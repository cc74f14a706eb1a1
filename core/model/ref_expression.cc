#include "core/model/ref_expression.h"

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/model/alias.h"

namespace tarn {
namespace {

constexpr std::string_view kModifiers = "~^@$";
constexpr uint32_t kStepsMax = 1'000'000;  // a longer walk is a mistake in the ref

bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw_invalid(str_cat("ref \"", text, "\": ", why));
}

}  // namespace

RefExpression parse_ref(std::string_view text) {
  for (char c : text) {
    if (is_space(c) || c == '\0') refuse(text, "must not hold white space");
  }
  RefExpression out;
  // A leading '@' marks an alias and belongs to the base.
  const bool alias = text.starts_with('@');
  const size_t start = alias ? 1 : 0;
  size_t at = text.find_first_of(kModifiers, start);
  if (at == std::string_view::npos) at = text.size();
  if (at == start) refuse(text, "names nothing");
  out.base = std::string(text.substr(0, at));
  if (alias && !is_alias_name(text.substr(1, at - 1))) refuse(text, "holds no name of an alias");
  while (at < text.size()) {
    const char kind = text[at++];
    if (kind == '@' || kind == '$') {
      if (at != text.size() || !out.modifiers.empty()) {
        refuse(text, "'@' and '$' must be the only modifier");
      }
      if (alias) refuse(text, "'@' and '$' need a branch");
      out.view = kind == '@' ? RefExpression::View::kCommitted : RefExpression::View::kStaged;
      return out;
    }
    if (kind != '~' && kind != '^') refuse(text, "only digits may follow '~' and '^'");
    uint32_t number = 0;
    const size_t first = at;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
      number = number * 10 + static_cast<uint32_t>(text[at++] - '0');
      if (number > kStepsMax) refuse(text, "walks too far");
    }
    if (at == first) number = 1;
    out.modifiers.push_back(
        {kind == '~' ? RefModifier::Kind::kAncestor : RefModifier::Kind::kParent, number});
  }
  return out;
}

}  // namespace tarn
