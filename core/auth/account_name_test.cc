#include "core/auth/account_name.h"

#include <string>

#include <gtest/gtest.h>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::auth {
namespace {

std::string problem(const std::string& name) {
  try {
    check_account_name("user", name);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.message();
  }
}

/// Characters that are invisible, or that change the direction of adjacent text.
constexpr const char* kHidden[] = {
    "\u00ad",     "\u061c",     "\u180e",     "\u200b",     "\u200d",   "\u200e",  "\u200f",
    "\u2028",     "\u2029",     "\u202a",     "\u202e",     "\u2060",   "\u2064",  "\u2066",
    "\u2069",     "\u206a",     "\u206f",     "\u3164",     "\ufeff",   "\ufff9",  "\ufffb",
    "\U000e0001", "\U000e007f", "\U000e0100", "\U0001d173", "\xc2\x80", "\xc2\x9f"};

TEST(AccountName, HasNoInvisibleCharacters) {
  for (const std::string hidden : kHidden) {
    for (const std::string& name :
         {hidden, hidden + "admin", "ad" + hidden + "min", "admin" + hidden}) {
      EXPECT_EQ(problem(name),
                "user name: must not hold characters that are invisible or change the direction of "
                "writing")
          << to_hex(name);
      EXPECT_THROW(check_display_name("user", name), Error) << to_hex(name);
    }
  }
}

TEST(AccountName, HasNoSpaceAtItsEnds) {
  for (const char* space :
       {" ", "\u00a0", "\u1680", "\u2000", "\u200a", "\u202f", "\u205f", "\u3000"}) {
    for (const std::string& name :
         {str_cat(space, "admin"), str_cat("admin", space), std::string(space)}) {
      EXPECT_EQ(problem(name), "user name: must not begin or end with a space") << to_hex(name);
      EXPECT_THROW(check_display_name("user", name), Error) << to_hex(name);
    }
  }
  EXPECT_EQ(problem("Ann B. O'Neil"), "");
}

TEST(AccountName, IsInAnyScript) {
  for (const char* name :
       {"ann", "Jürgen Groß", "Łukasz", "安娜", "Анна", "אנה", "آنا", "अन्ना", "กานดา", "\U0001f600",
        "a-b.c+d@example.org", "a b", "\u00a1\u00ae\u2010\u2027"}) {
    EXPECT_EQ(problem(name), "") << name;
    EXPECT_NO_THROW(check_display_name("user", name)) << name;
  }
}

TEST(AccountName, DisplayNameMayBeEmptyAndIsLessRestricted) {
  EXPECT_NO_THROW(check_display_name("user", ""));
  EXPECT_NO_THROW(check_display_name("user", "Ann (100 % of $)"));
  EXPECT_THROW(check_display_name("user", "a\nb"), Error);
  EXPECT_THROW(check_display_name("user", "\xff"), Error);
  EXPECT_THROW(check_display_name("user", std::string(kAccountNameBytesMax + 1, 'a')), Error);
}

}  // namespace
}  // namespace tarn::auth
