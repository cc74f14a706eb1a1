// The parsed authentication of a request, by whichever of S3's mechanisms. Nothing is verified
// here.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "core/http/message.h"

namespace tarn::sigv4 {

enum class Mechanism {
  kNone,      ///< no signature, also with `Authorization: Basic` and `Bearer`
  kV4Header,  ///< Authorization: AWS4-HMAC-SHA256 ...
  kV4Query,   ///< X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=...
  kV2Header,  ///< Authorization: AWS key:signature
  kV2Query,   ///< AWSAccessKeyId=...&Signature=...&Expires=...
  kV4Form,    ///< fields x-amz-algorithm, -credential, -date, -signature of an upload form
  kV2Form,    ///< fields AWSAccessKeyId and signature of an upload form
};

/// The part of a credential after the key id.
struct CredentialScope {
  std::string date;  ///< YYYYMMDD
  std::string region;
  std::string service;

  /// "20261120/us-east-1/s3/aws4_request"
  std::string text() const;
  bool operator==(const CredentialScope&) const = default;
};

struct Authorization {
  Mechanism mechanism = Mechanism::kNone;
  std::string access_key_id;
  std::string signature;  ///< as sent: 64 hex digits (V4) or base64 (V2)

  // V4 only.
  CredentialScope scope;
  std::vector<std::string> signed_headers;  ///< lower case, sorted, unique
  std::optional<Instant>
      timestamp;  ///< of x-amz-date, Date or X-Amz-Date; V2 header: when it is readable
  std::chrono::seconds lifetime{0};  ///< V4 query: X-Amz-Expires

  // V2 query only.
  int64_t expires_at_s = 0;  ///< seconds since 1970
};

/// Throws Rejection:
///   InvalidArgument                       two mechanisms, or a field that may occur once occurs
///   twice AccessDenied                          an Authorization of an unknown or empty form; a
///   date is missing AuthorizationHeaderMalformed          an AWS4 header that breaks the grammar
///   AuthorizationQueryParametersError     the same for the query form (permission_denied for
///   X-Amz-Expires) NotImplemented                        AWS4-ECDSA-P256-SHA256 InvalidToken an
///   X-Amz-Security-Token
Authorization parse_authorization(const http::Request& request);

/// The same of a browser's upload form, whose fields (names without case) sign the text of its
/// field "policy"; kNone for a form without policy and signature. Throws Rejection:
///   InvalidArgument                       fields of both versions, one that is missing, occurs
///   twice or breaks the grammar
///   SignatureDoesNotMatch                 a version 2 signature that can be none
///   NotImplemented, InvalidToken          as parse_authorization
Authorization parse_form_authorization(const http::Headers& fields);

/// Whether the request carries an S3 signature, well-formed or not. A shared port routes by it.
bool looks_signed(const http::Request& request);

/// The access key id in a signed request, "" for none. It is not verified, and the request may be
/// malformed: it only selects the request's share of the server.
std::string claimed_key_id(const http::Request& request);

}  // namespace tarn::sigv4
