// Reasons of failed sign-ins, as in reasons.h.
#pragma once

#include <string_view>

namespace tarn::reason {

constexpr std::string_view kExpiredToken = "expired_token";
constexpr std::string_view kInvalidToken = "invalid_token";
constexpr std::string_view kNoCredentials = "no_credentials";
constexpr std::string_view kUnknownAccessKey = "unknown_access_key";
constexpr std::string_view kWrongSecretKey = "wrong_secret_key";

}  // namespace tarn::reason
