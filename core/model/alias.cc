#include "core/model/alias.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn {
namespace {

constexpr size_t kAliasNameBytesMax = 255;

}  // namespace

bool is_alias_name(std::string_view text) {
  return !text.empty() && text.size() <= kAliasNameBytesMax && is_word(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_word(c) || c == '-' || c == '.'; });
}

AliasName parse_alias_name(std::string_view text) {
  if (!is_alias_name(text)) {
    throw_invalid(str_cat("alias \"", text,
                          "\": must be letters, digits, underscores, hyphens and dots, beginning "
                          "with none of the last two, and without '@' here"));
  }
  return AliasName(std::string(text));
}

}  // namespace tarn
