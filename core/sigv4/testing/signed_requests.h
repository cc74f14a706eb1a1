// Requests and chunked bodies as clients make them, for tests of this folder and of those that take
// signed requests.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/time.h"
#include "core/http/message.h"
#include "core/sigv4/sign.h"
#include "core/sigv4/verify.h"

namespace tarn::sigv4::testing {

inline const AccessKey kKey{"TARNTESTKEY000000001", "tarn/test+secret/0123456789abcdefghijklm"};
constexpr std::string_view kRegion = "us-east-1";
constexpr std::string_view kHost = "lake.test:8000";
constexpr std::string_view kUnsignedTrailer = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";
constexpr Instant kNow = from_millis(1795162542000);  // 2026-11-20T08:15:42Z

/// A request with host and content length; nothing signed.
http::Request make_request(std::string method, std::string target, std::string body = {});
/// Replaces the body and the announced length.
void set_body(http::Request& request, std::string body);

/// Each signs the request with kKey at `now`. `payload` is the value of x-amz-content-sha256.
void sign_v4(http::Request& request, std::string_view payload, Instant now = kNow);
void presign_v4(http::Request& request, std::chrono::seconds lifetime, Instant now = kNow);
void sign_v2(http::Request& request, Instant now = kNow);
void presign_v2(http::Request& request, int64_t expires_at_s);

/// A request with x-amz-date and an unsigned payload; a GET, or a PUT when there is a body. Not
/// signed.
http::Request dated(std::string target, std::string body = {});
/// Signs with V4 exactly `names` (sorted), whatever else is sent, with these canonical parts.
void sign_by_hand(http::Request& request, const std::vector<std::string>& names,
                  std::string_view path, std::string_view query, std::string_view host,
                  std::string_view payload);

/// parse_authorization and verify with kKey.
VerifiedRequest authenticate(const http::Request& request, Instant now = kNow,
                             const VerifyRules& rules = {});

/// The error that authenticate throws; "accepted" when it does not.
Rejection refusal_of(const http::Request& request, Instant now = kNow,
                     const VerifyRules& rules = {});
/// An element of a rejection, or "(absent)".
std::string element(const Rejection& rejection, std::string_view name);

/// A builder of one aws-chunked body. Signs if `verified` requires it.
struct ChunkedBodyText {
  std::vector<std::string> chunks;  ///< without the empty last one
  std::optional<std::string> trailer_name = {};
  std::string trailer_value = {};
  std::string_view trailer_line_end = "\r\n";

  std::string encode(const VerifiedRequest& verified) const;
};

/// A PUT with that literal, its chunks encoded and signed, and the given
/// `x-amz-decoded-content-length`.
http::Request chunked_put(std::string_view literal, const ChunkedBodyText& body,
                          std::string_view decoded_length);
/// The same with the true length.
http::Request chunked_put(std::string_view literal, const ChunkedBodyText& body);

/// The S3 code that `run` is refused with, or "accepted".
template <typename Run>
std::string outcome_of(Run&& run) {
  try {
    run();
    return "accepted";
  } catch (const Error& error) {
    return std::string(error.reason());
  }
}

}  // namespace tarn::sigv4::testing
