#include "core/auth/account_name.h"

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::auth {

void check_account_name(std::string_view what, std::string_view name) {
  const auto fail = [&](std::string_view why) {
    throw_invalid(str_cat(what, " name: ", why, ": invalid value: validation error"));
  };
  if (name.empty()) fail("must not be empty");
  if (name.size() > kAccountNameBytesMax) {
    fail(str_cat("must not be longer than ", kAccountNameBytesMax, " bytes"));
  }
  if (!is_utf8(name)) fail("must be UTF-8");
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) fail("must not hold control characters");
    if (c == '%' || c == '*' || c == '?' || c == '$') fail(str_cat("must not hold '", c, "'"));
  }
}

}  // namespace tarn::auth
