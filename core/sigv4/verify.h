// Verification of request signatures.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/http/message.h"
#include "core/sigv4/authorization.h"
#include "core/sigv4/rejection.h"

namespace tarn::sigv4 {

/// The form of the body, which only x-amz-content-sha256 (or its absence) determines. Every form
/// leaves the signature provable by the head alone.
enum class PayloadKind {
  kUnsigned,                  ///< as it is
  kSha256,                    ///< its hash was signed
  kStreamingUnsignedTrailer,  ///< aws-chunked, trailer
  kStreamingSigned,           ///< aws-chunked, every chunk signed
  kStreamingSignedTrailer,    ///< aws-chunked, every chunk and the trailer signed
};

/// The default value is an unsigned request whose body is not decoded.
struct VerifiedRequest {
  Mechanism mechanism = Mechanism::kNone;
  std::string access_key_id;
  PayloadKind payload = PayloadKind::kUnsigned;
  std::string payload_sha256;  ///< 64 hex digits when kSha256
  std::string timestamp;       ///< V4: ISO basic form
  std::string scope;           ///< V4: CredentialScope::text()
  std::string signing_key;     ///< V4: secret; for the chunk chain
  std::string seed_signature;  ///< V4: 64 hex digits
};

struct VerifyRules {
  bool allow_v2 = true;
  std::string_view region = {};            ///< empty = any
  std::string_view bucket_from_host = {};  ///< V2: the bucket when the Host names it
  /// V2: whether the signature has to cover the query parameter of this decoded name, besides those
  /// that version 2 defines.
  bool (*must_sign)(std::string_view name) = nullptr;
};

/// Source: S3's documented limit.
constexpr std::chrono::minutes kClockSkewMax{15};

/// `authorization` is that of `request` and not kNone; `secret` belongs to its access_key_id (an
/// unknown id is the caller's InvalidAccessKeyId). The signature is compared without a
/// data-dependent branch. Throws Rejection:
///   SignatureDoesNotMatch      elements AWSAccessKeyId, StringToSign, SignatureProvided,
///   CanonicalRequest (V4) RequestTimeTooSkewed       elements RequestTime, ServerTime,
///   MaxAllowedSkewMilliseconds AccessDenied               expired or not yet valid; host or
///   x-amz-* not signed (element HeadersNotSigned); V2: a parameter that it defines no place for is
///   not signed (element ParametersNotSigned) AuthorizationHeaderMalformed,
///   AuthorizationQueryParametersError   a region other than the rules' (element Region)
///   InvalidArgument            an x-amz-content-sha256 that is none of the known values
///   InvalidRequest             V2 where it is off; a streaming payload without a V4 header
///   signature; a body under a V4 header signature without x-amz-content-sha256
///   NotImplemented             ECDSA payload literals
VerifiedRequest verify(const Authorization& authorization, const http::Request& request,
                       std::string_view secret, const VerifyRules& rules, Instant now);

/// The same as verify, of a form: `policy` is that field as sent, in base64, which is all that was
/// signed. The form's body is unsigned. Until when and for which form the policy holds is for the
/// caller to check.
VerifiedRequest verify_form(const Authorization& authorization, std::string_view policy,
                            std::string_view secret, const VerifyRules& rules, Instant now);

/// Presigned URLs carry headers as query parameters (x-amz-meta-*, x-amz-tagging, x-amz-checksum-*;
/// V2 also content-md5 and content-type). Adds those that are missing as headers, except the
/// parameters of the signature itself. Call it after verify for kV4Query and kV2Query.
void hoist_query_headers(http::Request& request);

}  // namespace tarn::sigv4
