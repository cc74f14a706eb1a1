#include "server/api/credentials.h"

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/sign_in_reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/base/time.h"
#include "core/base/time_apart.h"
#include "server/api/errors.h"

namespace tarn::api {
namespace {

/// The two parts of an Authorization header; both empty if it has no such form.
struct SchemeAndValue {
  std::string_view scheme;
  std::string_view value;
};
SchemeAndValue split(std::string_view header) {
  const size_t space = header.find(' ');
  if (space == std::string_view::npos) return {};
  return {header.substr(0, space), trimmed(header.substr(space), " ")};
}

/// The text is the same for every reason: clients of this format compare it.
[[noreturn]] void throw_unauthenticated(std::string_view reason) {
  throw Error(ErrorCode::kUnauthenticated, reason, std::string(kUnauthenticatedText));
}

auth::Principal caller_of_token(auth::Authenticator& authenticator, std::string_view token) {
  if (auto caller = authenticator.check_token(token)) return *std::move(caller);
  const std::optional<Instant> expired = authenticator.expiry_of_expired(token);
  if (!expired) throw_unauthenticated(reason::kInvalidToken);
  const Instant now = authenticator.now();
  throw Error(
      ErrorCode::kUnauthenticated, reason::kExpiredToken,
      str_cat("the token expired at ", to_rfc3339(*expired), ", ", time_apart(*expired, now),
              " before the server's time, ", to_rfc3339(now), "; sign in again"));
}

auth::Principal caller_of_header(auth::Authenticator& authenticator, std::string_view header,
                                 std::string_view address) {
  const auto [scheme, value] = split(header);
  if (equal_ignoring_case(scheme, "Bearer")) return caller_of_token(authenticator, value);
  const std::optional<KeyPair> pair =
      equal_ignoring_case(scheme, "Basic") ? parse_basic(value) : std::nullopt;
  if (!pair || pair->id.empty()) throw_unauthenticated(reason::kNoCredentials);
  return caller_of_pair(authenticator, *pair, address);
}

}  // namespace

auth::Principal caller_of_pair(auth::Authenticator& authenticator, const KeyPair& pair,
                               std::string_view address) {
  auto caller = authenticator.check_password(pair.id, pair.secret, address);
  if (caller) return *std::move(caller);
  // Ids of keys are no secrets: S3 has two errors for these cases too.
  throw_unauthenticated(authenticator.find_key(pair.id) ? reason::kWrongSecretKey
                                                        : reason::kUnknownAccessKey);
}

void throw_unauthenticated() { throw_unauthenticated(reason::kNoCredentials); }

std::optional<KeyPair> parse_basic(std::string_view encoded) {
  const std::optional<std::string> plain = from_base64(encoded);
  if (!plain) return std::nullopt;
  const size_t colon = plain->find(':');
  if (colon == std::string::npos) return std::nullopt;
  return KeyPair{.id = plain->substr(0, colon), .secret = plain->substr(colon + 1)};
}

std::string session_cookie(const auth::LoginToken& token, bool tls) {
  return str_cat(kSessionCookie, "=", token.token,
                 "; Path=/; Expires=", to_http_date(token.expires), "; HttpOnly; SameSite=Lax",
                 tls ? "; Secure" : "");
}

std::optional<std::string> cookie(const http::Headers& headers, std::string_view name) {
  for (const auto& [field, value] : headers.all()) {
    if (!equal_ignoring_case(field, "Cookie")) continue;
    std::string_view rest = value;
    while (!rest.empty()) {
      const size_t end = rest.find(';');
      const std::string_view pair = trimmed(rest.substr(0, end), " ");
      const size_t equals = pair.find('=');
      if (equals != std::string_view::npos && pair.substr(0, equals) == name) {
        return std::string(pair.substr(equals + 1));
      }
      rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    }
  }
  return std::nullopt;
}

ClaimedCredentials claimed_credentials(const http::Request& request) {
  if (const std::string* header = request.headers.find("Authorization")) {
    const auto [scheme, value] = split(*header);
    if (equal_ignoring_case(scheme, "Bearer")) return {.pair = {}, .token = std::string(value)};
    if (!equal_ignoring_case(scheme, "Basic")) return {};
    return {.pair = parse_basic(value).value_or(KeyPair{}), .token = ""};
  }
  return {.pair = {}, .token = cookie(request.headers, kSessionCookie).value_or("")};
}

auth::Principal authenticate(auth::Authenticator& authenticator, const http::Request& request) {
  if (const std::string* header = request.headers.find("Authorization")) {
    return caller_of_header(authenticator, *header, request.peer);
  }
  if (const std::optional<std::string> session = cookie(request.headers, kSessionCookie)) {
    return caller_of_token(authenticator, *session);
  }
  throw_unauthenticated();
}

}  // namespace tarn::api
