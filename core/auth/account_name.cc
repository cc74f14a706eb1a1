#include "core/auth/account_name.h"

#include <string>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/hidden_characters.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn::auth {
namespace {

[[noreturn]] void fail(std::string_view what, std::string_view why) {
  throw_invalid(str_cat(what, " name: ", why));
}

/// Checks a name that is not empty.
void check_text(std::string_view what, std::string_view name) {
  if (name.size() > kAccountNameBytesMax) {
    fail(what, str_cat("must not be longer than ", kAccountNameBytesMax, " bytes"));
  }
  if (!is_utf8(name)) fail(what, "must be UTF-8");
  if (has_control(name)) fail(what, "must not hold control characters");
  if (holds_hidden_characters(name)) {
    fail(what, "must not hold characters that are invisible or change the direction of writing");
  }
  if (begins_or_ends_with_space(name)) fail(what, "must not begin or end with a space");
}

}  // namespace

void check_account_name(std::string_view what, std::string_view name) {
  if (name.empty()) fail(what, "must not be empty");
  check_text(what, name);
  const size_t at = name.find_first_of("%*?$");
  if (at != std::string_view::npos) fail(what, str_cat("must not hold '", name[at], "'"));
}

void check_display_name(std::string_view what, std::string_view name) {
  if (!name.empty()) check_text(what, name);
}

}  // namespace tarn::auth
