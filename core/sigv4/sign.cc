#include "core/sigv4/sign.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "core/sigv4/canonical.h"

namespace tarn::sigv4 {
namespace {

// Proxies and HTTP libraries change these headers, so signing them would only break requests.
constexpr std::array<std::string_view, 9> kNeverSigned = {
    "authorization",   "user-agent",     "expect",         "connection", "transfer-encoding", "te",
    "accept-encoding", "content-length", "x-amzn-trace-id"};
constexpr size_t kRememberedKeysMax = 64;
constexpr size_t kDateChars = 8;
constexpr std::chrono::seconds kLifetimeMax = std::chrono::hours{24 * 7};  // S3's limit

std::string scope_text(std::string_view timestamp, const SigningTarget& target) {
  return str_cat(timestamp.substr(0, kDateChars), '/', target.region, '/', target.service,
                 "/aws4_request");
}

std::vector<std::string> signed_names(const http::Headers& headers) {
  std::vector<std::string> names;
  for (const auto& field : headers.all()) {
    std::string name = lower(field.first);
    if (std::find(kNeverSigned.begin(), kNeverSigned.end(), name) == kNeverSigned.end()) {
      names.push_back(std::move(name));
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::string signature_for(const SigningTarget& target, std::string_view query, const AccessKey& key,
                          std::string_view timestamp, std::string_view header_lines,
                          std::string_view signed_headers, std::string_view payload_hash) {
  const std::string canonical =
      canonical_head(target.method, canonical_paths(target.path)[0], canonical_queries(query)[0],
                     header_lines, signed_headers)
          .append(payload_hash);
  return signature_of(
      signing_key(key.secret, timestamp.substr(0, kDateChars), target.region, target.service),
      string_to_sign(timestamp, scope_text(timestamp, target), canonical));
}

}  // namespace

std::string signing_key(std::string_view secret, std::string_view date, std::string_view region,
                        std::string_view service) {
  thread_local std::unordered_map<std::string, std::string> remembered;
  std::string name = str_cat(date, '\n', region, '\n', service, '\n', secret);
  if (const auto at = remembered.find(name); at != remembered.end()) return at->second;
  if (remembered.size() >= kRememberedKeysMax) remembered.clear();
  const std::string of_day = hmac_sha256(str_cat("AWS4", secret), date);
  const std::string of_service = hmac_sha256(hmac_sha256(of_day, region), service);
  return remembered.emplace(std::move(name), hmac_sha256(of_service, "aws4_request")).first->second;
}

void sign(http::Headers& headers, const SigningTarget& target, const AccessKey& key,
          std::string_view payload_hash, Instant now) {
  TARN_CHECK(headers.find("host") != nullptr);
  const std::string timestamp = to_iso_basic(now);
  headers.set("x-amz-date", timestamp);
  headers.set("x-amz-content-sha256", std::string(payload_hash));
  const std::vector<std::string> names = signed_names(headers);
  std::string lines;
  for (const std::string& name : names) {
    lines.append(name).append(":").append(*canonical_header(headers, name)).append("\n");
  }
  const std::string signature =
      signature_for(target, target.query, key, timestamp, lines, joined(names, ";"), payload_hash);
  headers.set("Authorization",
              str_cat("AWS4-HMAC-SHA256 Credential=", key.id, '/', scope_text(timestamp, target),
                      ", SignedHeaders=", joined(names, ";"), ", Signature=", signature));
}

std::string presign_query(std::string_view host, const SigningTarget& target, const AccessKey& key,
                          std::chrono::seconds lifetime, Instant now) {
  TARN_CHECK(lifetime.count() > 0 && lifetime <= kLifetimeMax);
  const std::string timestamp = to_iso_basic(now);
  const std::string credential = str_cat(key.id, '/', scope_text(timestamp, target));
  const std::string query = str_cat(
      target.query, target.query.empty() ? "" : "&",
      "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=", percent_encode(credential),
      "&X-Amz-Date=", timestamp, "&X-Amz-Expires=", lifetime.count(), "&X-Amz-SignedHeaders=host");
  return str_cat(query, "&X-Amz-Signature=",
                 signature_for(target, query, key, timestamp, str_cat("host:", host, '\n'), "host",
                               kUnsignedPayload));
}

}  // namespace tarn::sigv4
