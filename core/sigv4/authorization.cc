#include "core/sigv4/authorization.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/sigv4/canonical.h"
#include "core/sigv4/rejection.h"

namespace tarn::sigv4 {
namespace {

constexpr std::string_view kV4Algorithm = "AWS4-HMAC-SHA256";
constexpr std::string_view kEcdsaAlgorithm = "AWS4-ECDSA-P256-SHA256";
constexpr std::string_view kTerminator = "aws4_request";
constexpr std::string_view kHeaderMalformed = "AuthorizationHeaderMalformed";
constexpr std::string_view kQueryMalformed = "AuthorizationQueryParametersError";
constexpr size_t kSignatureHexChars = 64;
constexpr size_t kDateChars = 8;
constexpr size_t kScopeParts = 5;  // key, date, region, service, terminator
constexpr std::chrono::seconds kLifetimeMax = std::chrono::hours{24 * 7};
constexpr size_t kV2SignatureBytes = 20;

// Headers that must not be repeated: a proxy might use the first and we the last, so a second one
// is an attack or a mistake.
constexpr std::array<std::string_view, 7> kOnceOnly = {
    "host",        "authorization",     "x-amz-date", "x-amz-content-sha256",
    "content-md5", "x-amz-copy-source", "range"};

constexpr std::array<std::string_view, 6> kV4Parameters = {
    "X-Amz-Algorithm", "X-Amz-Credential",    "X-Amz-Date",
    "X-Amz-Expires",   "X-Amz-SignedHeaders", "X-Amz-Signature"};
constexpr std::array<std::string_view, 4> kV4Fields = {"x-amz-algorithm", "x-amz-credential",
                                                       "x-amz-date", "x-amz-signature"};
constexpr std::array<std::string_view, 2> kV2Fields = {"AWSAccessKeyId", "signature"};
constexpr std::array<std::string_view, 3> kV2Parameters = {"AWSAccessKeyId", "Signature",
                                                           "Expires"};

[[noreturn]] void refuse(std::string_view s3_code, std::string text) {
  throw Rejection(ErrorCode::kInvalidArgument, s3_code, std::move(text));
}

[[noreturn]] void deny(std::string text) {
  throw Rejection(ErrorCode::kPermissionDenied, "AccessDenied", std::move(text));
}

size_t count_parameter(std::string_view raw_query, std::string_view name) {
  size_t count = 0;
  for (const auto& pair : raw_query_pairs(raw_query)) {
    if (is_parameter(pair.first, name)) ++count;
  }
  return count;
}

bool has_scheme(std::string_view value, std::string_view scheme) {
  return value.size() > scheme.size() && value[scheme.size()] == ' ' &&
         starts_with_ignoring_case(value, scheme);
}

/// The S3 part of an Authorization header.
enum class HeaderForm { kAbsent, kOtherScheme, kV4, kV2, kUnknown };

HeaderForm form_of(const http::Request& request) {
  const std::string* value = request.headers.find("authorization");
  if (value == nullptr) return HeaderForm::kAbsent;
  if (value->starts_with("AWS4-")) return HeaderForm::kV4;
  if (value->starts_with("AWS ")) return HeaderForm::kV2;
  if (has_scheme(*value, "Basic") || has_scheme(*value, "Bearer")) return HeaderForm::kOtherScheme;
  return HeaderForm::kUnknown;
}

bool has_v4_query(const http::Request& request) {
  return count_parameter(request.raw_query(), "X-Amz-Algorithm") +
             count_parameter(request.raw_query(), "X-Amz-Credential") +
             count_parameter(request.raw_query(), "X-Amz-Signature") >
         0;
}

bool has_v2_query(const http::Request& request) {
  return count_parameter(request.raw_query(), "AWSAccessKeyId") > 0;
}

Mechanism mechanism_of(const http::Request& request) {
  const HeaderForm form = form_of(request);
  const bool by_header = form == HeaderForm::kV4 || form == HeaderForm::kV2;
  const bool by_v4_query = has_v4_query(request);
  const bool by_v2_query = has_v2_query(request);
  if (int{by_header} + int{by_v4_query} + int{by_v2_query} > 1) {
    refuse("InvalidArgument", "authenticating the request: only one auth mechanism allowed");
  }
  if (form == HeaderForm::kUnknown) {
    deny("authenticating the request: the Authorization header is of an unknown form");
  }
  if (by_v4_query) return Mechanism::kV4Query;
  if (by_v2_query) return Mechanism::kV2Query;
  if (form == HeaderForm::kV4) return Mechanism::kV4Header;
  return form == HeaderForm::kV2 ? Mechanism::kV2Header : Mechanism::kNone;
}

void refuse_repeated_headers(const http::Request& request) {
  for (std::string_view name : kOnceOnly) {
    if (request.headers.count(name) > 1) {
      refuse("InvalidArgument",
             str_cat("authenticating the request: header ", name, " occurs more than once"));
    }
  }
}

[[noreturn]] void refuse_token() {
  refuse("InvalidToken", "authenticating the request: session tokens are not in use here");
}

void refuse_session_token(const http::Request& request) {
  if (request.headers.count("x-amz-security-token") +
          count_parameter(request.raw_query(), "X-Amz-Security-Token") >
      0) {
    refuse_token();
  }
}

/// Splits from the right, because a key id may contain slashes.
void parse_credential(std::string_view text, std::string_view s3_code, Authorization& out) {
  std::array<std::string_view, kScopeParts> parts;
  for (size_t i = kScopeParts - 1; i > 0; --i) {
    const size_t slash = text.rfind('/');
    if (slash == std::string_view::npos) {
      refuse(s3_code, "reading the credential: expected key/date/region/service/aws4_request");
    }
    parts[i] = text.substr(slash + 1);
    text = text.substr(0, slash);
  }
  parts[0] = text;
  if (parts[0].empty() || parts[2].empty()) {
    refuse(s3_code, "reading the credential: key id or region is empty");
  }
  if (parts[1].size() != kDateChars ||
      parts[1].find_first_not_of("0123456789") != std::string_view::npos) {
    refuse(s3_code, "reading the credential: the date is not YYYYMMDD");
  }
  if (parts[3] != "s3") refuse(s3_code, "reading the credential: the service is not \"s3\"");
  if (parts[4] != kTerminator) {
    refuse(s3_code, "reading the credential: it does not end in \"aws4_request\"");
  }
  out.access_key_id = std::string(parts[0]);
  out.scope = {std::string(parts[1]), std::string(parts[2]), std::string(parts[3])};
}

void parse_signed_headers(std::string_view text, std::string_view s3_code, Authorization& out) {
  for (bool more = true; more;) {
    const size_t end = text.find(';');
    const std::string_view name = text.substr(0, end);
    if (!is_token(name) || std::any_of(name.begin(), name.end(), is_upper) ||
        (!out.signed_headers.empty() && name <= out.signed_headers.back())) {
      refuse(s3_code, "reading the signed headers: expected lower-case names, sorted, each once");
    }
    out.signed_headers.emplace_back(name);
    more = end != std::string_view::npos;
    if (more) text.remove_prefix(end + 1);
  }
}

void parse_signature(std::string_view text, std::string_view s3_code, Authorization& out) {
  if (text.size() != kSignatureHexChars || !from_hex(text)) {
    refuse(s3_code, "reading the signature: expected 64 hex digits");
  }
  out.signature = lower(text);
}

/// x-amz-date wins over Date; nullopt if neither is readable.
std::optional<Instant> header_time(const http::Request& request) {
  const std::string* text = request.headers.find("x-amz-date");
  if (text == nullptr) text = request.headers.find("date");
  if (text == nullptr) return std::nullopt;
  const auto time = parse_iso_basic(*text);
  return time ? time : parse_http_date(*text);
}

void require_scope_of_day(std::string_view s3_code, const Authorization& authorization) {
  if (to_iso_basic(*authorization.timestamp).substr(0, kDateChars) != authorization.scope.date) {
    refuse(s3_code, "reading the credential: its date is not the day of the request's time");
  }
}

void parse_v4_header(const http::Request& request, Authorization& out) {
  std::string_view text = *request.headers.find("authorization");
  const std::string_view algorithm = text.substr(0, text.find(' '));
  if (algorithm == kEcdsaAlgorithm) {
    throw Rejection(ErrorCode::kUnimplemented, "NotImplemented",
                    "authenticating the request: ECDSA signatures are not implemented");
  }
  if (algorithm != kV4Algorithm || algorithm.size() == text.size()) {
    refuse(kHeaderMalformed, "reading the Authorization header: unknown algorithm");
  }
  text.remove_prefix(algorithm.size());
  std::optional<std::string_view> credential, signed_headers, signature;
  for (bool more = true; more;) {
    const size_t comma = text.find(',');
    const std::string_view field = trimmed(text.substr(0, comma));
    const std::string_view name = field.substr(0, field.find('='));
    std::optional<std::string_view>* slot = name == "Credential"      ? &credential
                                            : name == "SignedHeaders" ? &signed_headers
                                            : name == "Signature"     ? &signature
                                                                      : nullptr;
    if (slot == nullptr || slot->has_value() || name.size() == field.size()) {
      refuse(kHeaderMalformed,
             "reading the Authorization header: expected Credential, SignedHeaders and Signature");
    }
    *slot = field.substr(name.size() + 1);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  if (!credential || !signed_headers || !signature) {
    refuse(kHeaderMalformed, "reading the Authorization header: a field is missing");
  }
  parse_credential(*credential, kHeaderMalformed, out);
  parse_signed_headers(*signed_headers, kHeaderMalformed, out);
  parse_signature(*signature, kHeaderMalformed, out);
  out.timestamp = header_time(request);
  if (!out.timestamp) deny("authenticating the request: a valid Date or x-amz-date is required");
  require_scope_of_day(kHeaderMalformed, out);
}

std::chrono::seconds parse_lifetime(std::string_view text) {
  int64_t seconds = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || seconds < 0 ||
      seconds > kLifetimeMax.count()) {
    refuse(kQueryMalformed, "reading X-Amz-Expires: expected 0 to 604800 seconds");
  }
  return std::chrono::seconds{seconds};
}

void parse_v4_query(const http::Request& request, Authorization& out) {
  const std::string_view query = request.raw_query();
  for (std::string_view name : kV4Parameters) {
    if (count_parameter(query, name) != 1) {
      refuse(kQueryMalformed, str_cat("authenticating the query: ", name, " is required, once"));
    }
  }
  const std::string algorithm = *query_value(query, "X-Amz-Algorithm");
  if (algorithm == kEcdsaAlgorithm) {
    throw Rejection(ErrorCode::kUnimplemented, "NotImplemented",
                    "authenticating the query: ECDSA signatures are not implemented");
  }
  if (algorithm != kV4Algorithm) {
    refuse(kQueryMalformed, "reading X-Amz-Algorithm: expected \"AWS4-HMAC-SHA256\"");
  }
  parse_credential(*query_value(query, "X-Amz-Credential"), kQueryMalformed, out);
  parse_signed_headers(*query_value(query, "X-Amz-SignedHeaders"), kQueryMalformed, out);
  parse_signature(*query_value(query, "X-Amz-Signature"), kQueryMalformed, out);
  out.timestamp = parse_iso_basic(*query_value(query, "X-Amz-Date"));
  if (!out.timestamp) refuse(kQueryMalformed, "reading X-Amz-Date: expected YYYYMMDDThhmmssZ");
  out.lifetime = parse_lifetime(*query_value(query, "X-Amz-Expires"));
  require_scope_of_day(kQueryMalformed, out);
}

void parse_v2_signature(std::string_view text, Authorization& out) {
  const auto bytes = from_base64(text);
  if (!bytes || bytes->size() != kV2SignatureBytes) {
    throw Rejection(ErrorCode::kPermissionDenied, "SignatureDoesNotMatch",
                    "reading the signature: expected base64 of 20 bytes");
  }
  out.signature = std::string(text);
}

void parse_v2_header(const http::Request& request, Authorization& out) {
  const std::string_view text =
      trimmed(std::string_view(*request.headers.find("authorization")).substr(4));
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) {
    refuse("InvalidArgument", "reading the Authorization header: expected \"AWS key:signature\"");
  }
  out.access_key_id = std::string(text.substr(0, colon));
  parse_v2_signature(text.substr(colon + 1), out);
  out.timestamp = header_time(request);
  // Source: S3 takes a date before 1970 for none.
  if (!out.timestamp || *out.timestamp < Instant{}) {
    deny("authenticating the request: a valid Date or x-amz-date is required");
  }
}

void parse_v2_query(const http::Request& request, Authorization& out) {
  const std::string_view query = request.raw_query();
  for (std::string_view name : kV2Parameters) {
    if (count_parameter(query, name) != 1) {
      deny(str_cat("authenticating the query: ", name, " is required, once"));
    }
  }
  out.access_key_id = *query_value(query, "AWSAccessKeyId");
  if (out.access_key_id.empty()) deny("authenticating the query: AWSAccessKeyId is empty");
  parse_v2_signature(*query_value(query, "Signature"), out);
  const std::string expires = *query_value(query, "Expires");
  const auto [end, error] =
      std::from_chars(expires.data(), expires.data() + expires.size(), out.expires_at_s);
  if (error != std::errc() || end != expires.data() + expires.size()) {
    deny("reading Expires: expected seconds since 1970");
  }
}

template <typename Names>
bool any_field(const http::Headers& fields, const Names& names) {
  return std::any_of(names.begin(), names.end(),
                     [&](std::string_view name) { return fields.count(name) > 0; });
}

void require_field(const http::Headers& fields, std::string_view name) {
  if (fields.count(name) == 1) return;
  throw Rejection(ErrorCode::kInvalidArgument, "InvalidArgument",
                  str_cat("authenticating the form: it must contain a field named \"", name,
                          "\", once and before the file"),
                  {{"ArgumentName", std::string(name)}});
}

void parse_v4_form(const http::Headers& fields, Authorization& out) {
  constexpr std::string_view kMalformed = "InvalidArgument";
  const std::string_view algorithm = fields.get("x-amz-algorithm");
  if (algorithm == kEcdsaAlgorithm) {
    throw Rejection(ErrorCode::kUnimplemented, "NotImplemented",
                    "authenticating the form: ECDSA signatures are not implemented");
  }
  if (algorithm != kV4Algorithm) {
    refuse(kMalformed, "reading x-amz-algorithm: expected \"AWS4-HMAC-SHA256\"");
  }
  parse_credential(fields.get("x-amz-credential"), kMalformed, out);
  parse_signature(fields.get("x-amz-signature"), kMalformed, out);
  out.timestamp = parse_iso_basic(fields.get("x-amz-date"));
  if (!out.timestamp) refuse(kMalformed, "reading x-amz-date: expected YYYYMMDDThhmmssZ");
  require_scope_of_day(kMalformed, out);
}

}  // namespace

std::string CredentialScope::text() const {
  return str_cat(date, '/', region, '/', service, '/', kTerminator);
}

Authorization parse_authorization(const http::Request& request) {
  refuse_repeated_headers(request);
  Authorization out;
  out.mechanism = mechanism_of(request);
  if (out.mechanism == Mechanism::kNone) return out;
  refuse_session_token(request);
  switch (out.mechanism) {
    case Mechanism::kNone:
      break;
    case Mechanism::kV4Header:
      parse_v4_header(request, out);
      break;
    case Mechanism::kV4Query:
      parse_v4_query(request, out);
      break;
    case Mechanism::kV2Header:
      parse_v2_header(request, out);
      break;
    case Mechanism::kV2Query:
      parse_v2_query(request, out);
      break;
    case Mechanism::kV4Form:
    case Mechanism::kV2Form:
      break;  // not in a request's head
  }
  return out;
}

Authorization parse_form_authorization(const http::Headers& fields) {
  Authorization out;
  const bool v4 = any_field(fields, kV4Fields);
  const bool v2 = any_field(fields, kV2Fields);
  if (v4 && v2) {
    refuse("InvalidArgument", "authenticating the form: only one auth mechanism allowed");
  }
  if (fields.count("x-amz-security-token") > 0) refuse_token();
  if (!v4 && !v2 && fields.count("policy") == 0) return out;
  require_field(fields, "policy");
  if (v4) {
    for (std::string_view name : kV4Fields) require_field(fields, name);
    out.mechanism = Mechanism::kV4Form;
    parse_v4_form(fields, out);
    return out;
  }
  for (std::string_view name : kV2Fields) require_field(fields, name);
  out.mechanism = Mechanism::kV2Form;
  out.access_key_id = fields.get("AWSAccessKeyId");
  parse_v2_signature(fields.get("signature"), out);
  return out;
}

bool looks_signed(const http::Request& request) {
  const HeaderForm form = form_of(request);
  return form == HeaderForm::kV4 || form == HeaderForm::kV2 || has_v4_query(request) ||
         has_v2_query(request);
}

std::string claimed_key_id(const http::Request& request) {
  constexpr std::string_view kCredential = "Credential=";
  constexpr std::string_view kV2Scheme = "AWS ";
  const std::string_view header = request.headers.get("authorization");
  switch (form_of(request)) {
    case HeaderForm::kV4: {
      const size_t at = header.find(kCredential);
      if (at == std::string_view::npos) return "";
      const std::string_view credential = header.substr(at + kCredential.size());
      return std::string(credential.substr(0, credential.find('/')));
    }
    case HeaderForm::kV2:
      return std::string(header.substr(kV2Scheme.size(), header.find(':') - kV2Scheme.size()));
    case HeaderForm::kAbsent:
    case HeaderForm::kOtherScheme:
    case HeaderForm::kUnknown:
      break;
  }
  const std::string_view query = request.raw_query();
  if (const auto credential = query_value(query, "X-Amz-Credential")) {
    return credential->substr(0, credential->find('/'));
  }
  return query_value(query, "AWSAccessKeyId").value_or("");
}

}  // namespace tarn::sigv4
