// Signing of requests and URLs with AWS Signature Version 4, as a client.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "core/http/message.h"

namespace tarn::sigv4 {

struct AccessKey {
  std::string id;
  std::string secret;
};

/// Payload hash texts that are no hash.
constexpr std::string_view kUnsignedPayload = "UNSIGNED-PAYLOAD";
constexpr std::string_view kEmptySha256 =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// The signed parts besides the headers. Path and query exactly as they will be sent
/// (percent-encoded).
struct SigningTarget {
  std::string_view method;
  std::string_view path;
  std::string_view query;
  std::string_view region;
  std::string_view service = "s3";
};

/// Adds x-amz-date, x-amz-content-sha256 and Authorization. Every field present in `headers` is
/// signed but those that intermediaries rewrite (Authorization, User-Agent, Expect, Connection,
/// Transfer-Encoding, Accept-Encoding, Content-Length); "host" must be among them. `payload_hash`
/// is lower-case hex or kUnsignedPayload.
void sign(http::Headers& headers, const SigningTarget& target, const AccessKey& key,
          std::string_view payload_hash, Instant now);

/// The query of a URL that permits everybody to send this one request for `lifetime` (1 s to 7
/// days): the target's query with the signing parameters appended. Signs only the host.
std::string presign_query(std::string_view host, const SigningTarget& target, const AccessKey& key,
                          std::chrono::seconds lifetime, Instant now);

/// The key that signs for one secret, day (YYYYMMDD), region and service. The last ones are
/// remembered per thread: deriving costs four HMACs.
std::string signing_key(std::string_view secret, std::string_view date, std::string_view region,
                        std::string_view service);

}  // namespace tarn::sigv4
