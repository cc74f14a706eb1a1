// Login tokens: JSON Web Tokens signed with HS256 (RFC 7519). Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/time.h"

namespace tarn::auth {

struct LoginClaims {
  std::string subject;        ///< user name
  Instant subject_created{};  ///< distinguishes the user from a later one of that name
  std::string access_key_id;  ///< that the login was made with; "" = with none
  Instant began{};            ///< the login
  Instant issued{};           ///< this token, which may renew that login
  Instant expires{};
};

std::string sign_login_token(std::string_view key, const LoginClaims& claims);
/// nullopt unless this key signed it. Expiry is the caller's to check.
std::optional<LoginClaims> verify_login_token(std::string_view key, std::string_view token);

}  // namespace tarn::auth
