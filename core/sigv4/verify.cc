#include "core/sigv4/verify.h"

#include <algorithm>
#include <array>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/base/time_apart.h"
#include "core/sigv4/canonical.h"
#include "core/sigv4/sign.h"
#include "core/sigv4/signature_v2.h"

namespace tarn::sigv4 {
namespace {

constexpr std::string_view kContentSha256 = "x-amz-content-sha256";
constexpr size_t kSha256HexChars = 64;

struct Literal {
  std::string_view text;
  PayloadKind kind;
};
constexpr std::array<Literal, 4> kLiterals = {
    Literal{kUnsignedPayload, PayloadKind::kUnsigned},
    Literal{"STREAMING-UNSIGNED-PAYLOAD-TRAILER", PayloadKind::kStreamingUnsignedTrailer},
    Literal{"STREAMING-AWS4-HMAC-SHA256-PAYLOAD", PayloadKind::kStreamingSigned},
    Literal{"STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER", PayloadKind::kStreamingSignedTrailer}};

bool is_v4(Mechanism mechanism) {
  return mechanism == Mechanism::kV4Header || mechanism == Mechanism::kV4Query ||
         mechanism == Mechanism::kV4Form;
}

[[noreturn]] void deny(std::string text, std::vector<Rejection::Element> elements = {}) {
  throw Rejection(ErrorCode::kPermissionDenied, "AccessDenied", std::move(text),
                  std::move(elements));
}

bool is_sha256_hex(std::string_view text) {
  return text.size() == kSha256HexChars && is_lower_hex(text);
}

PayloadKind kind_of(std::string_view literal) {
  for (const Literal& known : kLiterals) {
    if (literal == known.text) return known.kind;
  }
  if (is_sha256_hex(literal)) return PayloadKind::kSha256;
  if (literal == "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD" ||
      literal == "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER") {
    throw Rejection(ErrorCode::kUnimplemented, "NotImplemented",
                    "reading x-amz-content-sha256: ECDSA signatures are not implemented");
  }
  throw Rejection(ErrorCode::kInvalidArgument, "InvalidArgument",
                  "reading x-amz-content-sha256: expected UNSIGNED-PAYLOAD, a STREAMING- literal "
                  "or 64 lower-case hex digits");
}

bool is_streaming(PayloadKind kind) {
  return kind == PayloadKind::kStreamingUnsignedTrailer || kind == PayloadKind::kStreamingSigned ||
         kind == PayloadKind::kStreamingSignedTrailer;
}

bool has_body(const http::Request& request) {
  return request.chunked || request.content_length.value_or(0) > 0;
}

bool is_signed(const Authorization& authorization, std::string_view name) {
  return std::binary_search(authorization.signed_headers.begin(),
                            authorization.signed_headers.end(), name);
}

/// The value of x-amz-content-sha256, in the header or (presigned) in the query; "" if absent.
std::string payload_literal(const Authorization& authorization, const http::Request& request) {
  if (const std::string* header = request.headers.find(kContentSha256)) return *header;
  if (authorization.mechanism == Mechanism::kV4Query) {
    return query_value(request.raw_query(), kContentSha256).value_or("");
  }
  return "";
}

/// Sets kind and hash of the payload, independent of the signature.
void read_payload_kind(const Authorization& authorization, const http::Request& request,
                       VerifiedRequest& out) {
  const std::string literal = payload_literal(authorization, request);
  if (literal.empty() && request.headers.find(kContentSha256) == nullptr) {
    if (authorization.mechanism != Mechanism::kV4Header) return;
    // The signature would cover the hash of a body that has not been received, so nothing about
    // the request could be proven before its end.
    if (has_body(request)) {
      throw Rejection(ErrorCode::kInvalidArgument, "InvalidRequest",
                      "authenticating the request: Missing required header for this request: "
                      "x-amz-content-sha256; send the hash of the body, or UNSIGNED-PAYLOAD");
    }
    out.payload = PayloadKind::kSha256;
    out.payload_sha256 = kEmptySha256;
    return;
  }
  out.payload = kind_of(literal);
  if (out.payload == PayloadKind::kSha256) out.payload_sha256 = literal;
  if (is_streaming(out.payload) && authorization.mechanism != Mechanism::kV4Header) {
    throw Rejection(ErrorCode::kInvalidArgument, "InvalidRequest",
                    "reading x-amz-content-sha256: a streaming payload needs an AWS4-HMAC-SHA256 "
                    "Authorization header");
  }
}

/// The last line of the canonical request.
std::string payload_line(const Authorization& authorization, const http::Request& request,
                         const VerifiedRequest& verified) {
  const std::string literal = payload_literal(authorization, request);
  if (authorization.mechanism == Mechanism::kV4Header) {
    return literal.empty() ? verified.payload_sha256 : literal;
  }
  const bool covered = is_signed(authorization, kContentSha256) ||
                       query_value(request.raw_query(), kContentSha256).has_value();
  return covered ? literal : std::string(kUnsignedPayload);
}

void check_skew(Instant time, Instant now) {
  if (time <= now + kClockSkewMax && time >= now - kClockSkewMax) return;
  const auto skew_ms = std::chrono::milliseconds(kClockSkewMax).count();
  throw Rejection(
      ErrorCode::kPermissionDenied, "RequestTimeTooSkewed",
      str_cat("It was signed at ", to_rfc3339(time), ", the server's time is ", to_rfc3339(now),
              ": they are ", time_apart(time, now), " apart, of at most ", kClockSkewMax.count(),
              " min. Set the clock that is wrong by NTP."),
      {{"RequestTime", to_iso_basic(time)},
       {"ServerTime", to_rfc3339(now)},
       {"MaxAllowedSkewMilliseconds", std::to_string(skew_ms)}});
}

/// End of a URL of version 2, whose expiry may be any number.
Instant valid_until(const Authorization& authorization) {
  return Instant{std::chrono::seconds{std::max<int64_t>(authorization.expires_at_s, 0)}};
}

std::string expired_text(Instant expires, Instant now) {
  return str_cat("checking the signed URL: Request has expired: it was valid until ",
                 to_rfc3339(expires), ", the server's time is ", to_rfc3339(now), ", ",
                 time_apart(expires, now),
                 " later. Sign it again; if it is new, set the clock of "
                 "the signing machine by NTP");
}

std::string future_text(Instant signed_at, Instant now) {
  return str_cat("it was signed at ", to_rfc3339(signed_at), ", the server's time is ",
                 to_rfc3339(now), ", ", time_apart(signed_at, now),
                 " earlier. Set the clock of the signing machine by NTP");
}

/// The lifetime of a presigned URL starts at its date, however old that is.
void check_lifetime(const Authorization& authorization, Instant now) {
  const Instant signed_at = *authorization.timestamp;
  if (signed_at > now + kClockSkewMax) {
    deny(str_cat("checking the signed URL: it is not yet valid: ", future_text(signed_at, now)));
  }
  if (authorization.lifetime.count() == 0 || now >= signed_at + authorization.lifetime) {
    deny(expired_text(signed_at + authorization.lifetime, now),
         {{"X-Amz-Expires", std::to_string(authorization.lifetime.count())},
          {"Expires", to_rfc3339(signed_at + authorization.lifetime)},
          {"ServerTime", to_rfc3339(now)}});
  }
}

void check_time(const Authorization& authorization, Instant now) {
  switch (authorization.mechanism) {
    case Mechanism::kNone:
    case Mechanism::kV2Form:
      break;
    case Mechanism::kV4Form:
      if (*authorization.timestamp > now + kClockSkewMax) {
        deny(str_cat("checking the form: its x-amz-date is in the future: ",
                     future_text(*authorization.timestamp, now)));
      }
      break;
    case Mechanism::kV4Header:
    case Mechanism::kV2Header:
      check_skew(*authorization.timestamp, now);
      break;
    case Mechanism::kV4Query:
      check_lifetime(authorization, now);
      break;
    case Mechanism::kV2Query:
      if (to_seconds(now) >= authorization.expires_at_s) {
        deny(expired_text(valid_until(authorization), now),
             {{"Expires", std::to_string(authorization.expires_at_s)},
              {"ServerTime", to_rfc3339(now)}});
      }
      break;
  }
}

/// Headers that a third party could add must be signed. x-amz-content-sha256 is exempt because the
/// canonical request ends in it.
void require_signed_headers(const Authorization& authorization, const http::Request& request) {
  std::vector<std::string> missing;
  if (!is_signed(authorization, "host")) missing.push_back("host");
  for (const auto& field : request.headers.all()) {
    if (!starts_with_ignoring_case(field.first, "x-amz-")) continue;
    std::string name = lower(field.first);
    if (name == kContentSha256) continue;
    if (!is_signed(authorization, name)) missing.push_back(std::move(name));
  }
  if (missing.empty()) return;
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  deny(
      "checking the signed headers: There were headers present in the request which were not "
      "signed",
      {{"HeadersNotSigned", joined(missing, ", ")}});
}

void check_region(const Authorization& authorization, const VerifyRules& rules) {
  if (rules.region.empty() || authorization.scope.region == rules.region) return;
  throw Rejection(ErrorCode::kInvalidArgument,
                  authorization.mechanism == Mechanism::kV4Header
                      ? std::string_view("AuthorizationHeaderMalformed")
                      : std::string_view("AuthorizationQueryParametersError"),
                  str_cat("checking the credential: the region \"", authorization.scope.region,
                          "\" is wrong; expecting \"", rules.region, "\""),
                  {{"Region", std::string(rules.region)}});
}

/// The host as received, and with the default port added or removed: some clients sign one and send
/// the other.
std::vector<std::string> host_candidates(const http::Request& request) {
  const std::string host(trimmed(request.headers.get("host")));
  for (std::string_view port : {":80", ":443"}) {
    if (host.ends_with(port)) return {host, host.substr(0, host.size() - port.size())};
  }
  const size_t colon = host.rfind(':');
  const bool has_port = colon != std::string::npos && host.back() != ']';
  if (has_port) return {host};
  return {host, host + ":80", host + ":443"};
}

/// "name:value
/// " for each signed header; nullopt if one of them was not sent.
std::optional<std::string> header_lines(const Authorization& authorization,
                                        const http::Request& request, std::string_view host) {
  std::string out;
  for (const std::string& name : authorization.signed_headers) {
    std::optional<std::string> value = canonical_header(request.headers, name);
    if (name == "host") value = std::string(host);
    if (!value && name == "content-length" && request.content_length) {
      value = std::to_string(*request.content_length);
    }
    if (!value) return std::nullopt;
    out.append(name).append(":").append(*value).append("\n");
  }
  return out;
}

/// Calls `accepts` with canonical requests (without their last line) until it returns true. Any
/// match is authentic: each candidate is a pure function of the request line and headers.
template <typename Accepts>
bool any_canonical_head(const Authorization& authorization, const http::Request& request,
                        Accepts&& accepts) {
  const bool presigned = authorization.mechanism == Mechanism::kV4Query;
  const std::string names = joined(authorization.signed_headers, ";");
  const auto paths = canonical_paths(request.raw_path());
  const auto queries =
      canonical_queries(request.raw_query(), presigned ? "X-Amz-Signature" : std::string_view());
  for (const std::string& host : host_candidates(request)) {
    const auto lines = header_lines(authorization, request, host);
    if (!lines) return false;
    for (const std::string& path : paths) {
      for (const std::string& query : queries) {
        if (accepts(canonical_head(request.method, path, query, *lines, names))) return true;
      }
    }
  }
  return false;
}

[[noreturn]] void refuse_signature(const Authorization& authorization, std::string text,
                                   std::string canonical) {
  std::vector<Rejection::Element> elements{{"AWSAccessKeyId", authorization.access_key_id},
                                           {"StringToSign", std::move(text)},
                                           {"SignatureProvided", authorization.signature}};
  if (!canonical.empty()) elements.emplace_back("CanonicalRequest", std::move(canonical));
  throw Rejection(ErrorCode::kPermissionDenied, "SignatureDoesNotMatch",
                  "checking the signature: the request signature we calculated does not match the "
                  "signature you provided; check your key and signing method",
                  std::move(elements));
}

void verify_v4(const Authorization& authorization, const http::Request& request,
               std::string_view secret, VerifiedRequest& out) {
  const CredentialScope& scope = authorization.scope;
  out.timestamp = to_iso_basic(*authorization.timestamp);
  out.scope = scope.text();
  out.signing_key = signing_key(secret, scope.date, scope.region, scope.service);
  out.seed_signature = authorization.signature;
  const std::string last_line = payload_line(authorization, request, out);
  std::string first_canonical, first_text;  // shown to the client
  const bool authentic = any_canonical_head(authorization, request, [&](std::string head) {
    const std::string canonical = std::move(head) + last_line;
    const std::string text = string_to_sign(out.timestamp, out.scope, canonical);
    if (same_signature(signature_of(out.signing_key, text), authorization.signature)) return true;
    if (first_canonical.empty()) {
      first_canonical = canonical;
      first_text = text;
    }
    return false;
  });
  if (authentic) return;
  if (first_canonical.empty()) first_text = "a signed header was not received";
  refuse_signature(authorization, std::move(first_text), std::move(first_canonical));
}

void verify_v2(const Authorization& authorization, const http::Request& request,
               std::string_view secret, const VerifyRules& rules) {
  const auto texts =
      v2_strings_to_sign(authorization, request, rules.bucket_from_host, rules.must_sign);
  for (const std::string& text : texts) {
    if (constant_time_equal(v2_signature_of(secret, text), authorization.signature)) return;
  }
  const std::string later = v2_later_parameters(request.raw_query(), rules.must_sign);
  if (!later.empty()) {
    deny(str_cat("checking the signature: signers of version 2 leave out some query parameters, "
                 "here ",
                 later, "; sign with version 4"),
         {{"ParametersNotSigned", later}});
  }
  refuse_signature(authorization, texts[0], "");
}

VerifiedRequest begin(const Authorization& authorization, const VerifyRules& rules) {
  if (!is_v4(authorization.mechanism) && !rules.allow_v2) {
    throw Rejection(ErrorCode::kInvalidArgument, "InvalidRequest",
                    "authenticating the request: the authorization mechanism you have provided is "
                    "not supported; please use AWS4-HMAC-SHA256");
  }
  VerifiedRequest out;
  out.mechanism = authorization.mechanism;
  out.access_key_id = authorization.access_key_id;
  return out;
}

// Signature parameters in a query; everything else named x-amz-* there stands for a header.
constexpr std::array<std::string_view, 8> kSignatureParameters = {
    "x-amz-algorithm",     "x-amz-credential", "x-amz-date",           "x-amz-expires",
    "x-amz-signedheaders", "x-amz-signature",  "x-amz-security-token", "x-amz-content-sha256"};

bool is_signature_parameter(std::string_view name) {
  return std::find(kSignatureParameters.begin(), kSignatureParameters.end(), name) !=
         kSignatureParameters.end();
}

}  // namespace

VerifiedRequest verify(const Authorization& authorization, const http::Request& request,
                       std::string_view secret, const VerifyRules& rules, Instant now) {
  TARN_CHECK(authorization.mechanism != Mechanism::kNone);
  const bool v4 = is_v4(authorization.mechanism);
  VerifiedRequest out = begin(authorization, rules);
  if (v4) {
    check_region(authorization, rules);
    require_signed_headers(authorization, request);
  }
  check_time(authorization, now);
  read_payload_kind(authorization, request, out);
  if (v4) {
    verify_v4(authorization, request, secret, out);
  } else {
    verify_v2(authorization, request, secret, rules);
  }
  return out;
}

VerifiedRequest verify_form(const Authorization& authorization, std::string_view policy,
                            std::string_view secret, const VerifyRules& rules, Instant now) {
  TARN_CHECK(authorization.mechanism == Mechanism::kV4Form ||
             authorization.mechanism == Mechanism::kV2Form);
  VerifiedRequest out = begin(authorization, rules);
  check_time(authorization, now);
  bool authentic = false;
  if (authorization.mechanism == Mechanism::kV4Form) {
    check_region(authorization, rules);
    const CredentialScope& scope = authorization.scope;
    const std::string key = signing_key(secret, scope.date, scope.region, scope.service);
    authentic = same_signature(signature_of(key, policy), authorization.signature);
  } else {
    authentic = constant_time_equal(v2_signature_of(secret, policy), authorization.signature);
  }
  if (!authentic) refuse_signature(authorization, std::string(policy), "");
  return out;
}

void hoist_query_headers(http::Request& request) {
  const bool v2 = query_value(request.raw_query(), "AWSAccessKeyId").has_value();
  http::Headers found;
  for (const auto& [raw_name, raw_value] : raw_query_pairs(request.raw_query())) {
    std::string name = lower(decoded(raw_name));
    const bool stands_for_header = (v2 ? v2_signs_as_header(name) : name.starts_with("x-amz-")) &&
                                   !is_signature_parameter(name);
    if (!stands_for_header || request.headers.find(name) != nullptr) continue;
    std::string value(trimmed(decoded(raw_value)));
    // A decoded value may hold what a header line cannot; it must not reach an answer's header
    // later.
    const auto breaks = [](char c) { return is_control(c) && c != '\t'; };
    if (std::any_of(value.begin(), value.end(), breaks) ||
        std::any_of(name.begin(), name.end(), breaks)) {
      throw Rejection(
          ErrorCode::kInvalidArgument, "InvalidArgument",
          "reading the query: a parameter that stands for a header holds control characters");
    }
    found.add(std::move(name), std::move(value));
  }
  for (const auto& [name, value] : found.all()) request.headers.add(name, value);
}

}  // namespace tarn::sigv4
