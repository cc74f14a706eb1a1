// The rules for names of users, groups and policies.
#pragma once

#include <cstddef>
#include <string_view>

namespace tarn::auth {

constexpr size_t kAccountNameBytesMax = 127;

/// Throws invalid_argument naming `what` ("user"): 1..127 bytes of UTF-8 without control characters
/// and without % * ? $, which mean something in URLs and policies. Two names must not look the same
/// to an administrator: no space at the ends, no characters that are invisible or change the
/// direction of writing.
void check_account_name(std::string_view what, std::string_view name);

/// Checks a display name, which may be empty and may contain % * ? $; otherwise as above.
void check_display_name(std::string_view what, std::string_view name);

}  // namespace tarn::auth
