// Credentials of a request: the Authorization header and the session cookie.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/auth/authenticator.h"
#include "core/http/message.h"

namespace tarn::api {

/// Holds a login token.
constexpr std::string_view kSessionCookie = "internal_auth_session";

/// Tries the bearer token, then the key pair (Basic), then the session cookie. A bad Authorization
/// header fails at once; a bad cookie is ignored. Throws unauthenticated "error authenticating
/// request".
auth::Principal authenticate(auth::Authenticator& authenticator, const http::Request& request);

/// The Set-Cookie value that starts a browser session with the token.
std::string session_cookie(const auth::LoginToken& token, bool tls);

/// The value of the first cookie with that name, or nullopt.
std::optional<std::string> cookie(const http::Headers& headers, std::string_view name);

struct KeyPair {
  std::string id;
  std::string secret;
};
/// The user that a request claims to be, not verified; both empty without a claim.
struct ClaimedCredentials {
  KeyPair pair;
  std::string token;
};
ClaimedCredentials claimed_credentials(const http::Request& request);

/// Parses an Authorization header's value without its scheme; nullopt unless base64 of "id:secret".
std::optional<KeyPair> parse_basic(std::string_view encoded);

/// The owner of the pair. Throws unauthenticated (reasons "unknown_access_key",
/// "wrong_secret_key"); as Authenticator::check_password.
auth::Principal caller_of_pair(auth::Authenticator& authenticator, const KeyPair& pair,
                               std::string_view address);

/// Reason "no_credentials".
[[noreturn]] void throw_unauthenticated();

}  // namespace tarn::api
