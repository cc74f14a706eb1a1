#include "core/auth/login_token.h"

#include <charconv>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"

namespace tarn::auth {
namespace {

constexpr std::string_view kHeader = R"({"alg":"HS256","typ":"JWT"})";
constexpr size_t kTokenBytesMax = 4096;

// Names travel percent-encoded, in the claim set's own order, which is the only order accepted:
// what is parsed here was signed by sign_login_token, byte for byte. RFC 7519 wants seconds in exp
// and iat; the claims of our own are in milliseconds.
std::string claim_set(const LoginClaims& claims, std::string_view token_id) {
  return str_cat(R"({"aud":"login","exp":)", to_seconds(claims.expires), R"(,"iat":)",
                 to_seconds(claims.issued), R"(,"issued_ms":)", to_millis(claims.issued),
                 R"(,"began_ms":)", to_millis(claims.began), R"(,"created_ms":)",
                 to_millis(claims.subject_created), R"(,"iss":"auth","jti":")", token_id,
                 R"(","key":")", percent_encode(claims.access_key_id), R"(","sub":")",
                 percent_encode(claims.subject), R"("})");
}

/// The text between `before` and `after`.
std::optional<std::string_view> between(std::string_view text, std::string_view before,
                                        std::string_view after) {
  const size_t start = text.find(before);
  if (start == std::string_view::npos) return std::nullopt;
  const size_t from = start + before.size();
  const size_t end = text.find(after, from);
  if (end == std::string_view::npos) return std::nullopt;
  return text.substr(from, end - from);
}

/// The number between `before` and the next comma.
std::optional<int64_t> number_behind(std::string_view text, std::string_view before) {
  const auto digits = between(text, before, ",");
  if (!digits) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits->data(), digits->data() + digits->size(), value);
  if (error != std::errc() || end != digits->data() + digits->size()) return std::nullopt;
  return value;
}

}  // namespace

std::string sign_login_token(std::string_view key, const LoginClaims& claims) {
  const std::string body =
      to_base64url(kHeader) + "." + to_base64url(claim_set(claims, to_hex(random_bytes(16))));
  return body + "." + to_base64url(hmac_sha256(key, body));
}

std::optional<LoginClaims> verify_login_token(std::string_view key, std::string_view token) {
  if (token.size() > kTokenBytesMax) return std::nullopt;
  const size_t dot = token.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view body = token.substr(0, dot);
  const auto signature = from_base64url(token.substr(dot + 1));
  if (!signature || !constant_time_equal(*signature, hmac_sha256(key, body))) return std::nullopt;
  const size_t middle = body.find('.');
  if (middle == std::string_view::npos || body.substr(0, middle) != to_base64url(kHeader))
    return std::nullopt;
  const auto claims = from_base64url(body.substr(middle + 1));
  if (!claims) return std::nullopt;
  const auto expires = number_behind(*claims, R"("exp":)");
  const auto issued = number_behind(*claims, R"("issued_ms":)");
  const auto began = number_behind(*claims, R"("began_ms":)");
  const auto created = number_behind(*claims, R"("created_ms":)");
  const auto key_text = between(*claims, R"("key":")", "\"");
  const auto subject = between(*claims, R"("sub":")", "\"");
  if (!expires || !issued || !began || !created || !key_text || !subject) return std::nullopt;
  const auto name = percent_decode(*subject);
  const auto key_id = percent_decode(*key_text);
  if (!name || !key_id) return std::nullopt;
  return LoginClaims{.subject = *name,
                     .subject_created = from_millis(*created),
                     .access_key_id = *key_id,
                     .began = from_millis(*began),
                     .issued = from_millis(*issued),
                     .expires = Instant{std::chrono::seconds{*expires}}};
}

}  // namespace tarn::auth
