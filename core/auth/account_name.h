// The rule for names of users, groups and policies.
#pragma once

#include <cstddef>
#include <string_view>

namespace tarn::auth {

constexpr size_t kAccountNameBytesMax = 127;

/// Throws invalid_argument naming `what` ("user"): 1..127 bytes of UTF-8 without control characters
/// and without % * ? $, which mean something in URLs and policies.
void check_account_name(std::string_view what, std::string_view name);

}  // namespace tarn::auth
