#include "server/api/block_url.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/time_apart.h"

namespace tarn::api {
namespace {

constexpr std::string_view kBlockPath = "/_blocks/";
constexpr std::string_view kSignature = "X-Amz-Signature";
constexpr std::string_view kAlgorithm = "TARN-HMAC-SHA256";
constexpr size_t kKeyBytes = 32;

using Kind = BlockGrant::Kind;
constexpr std::array<std::pair<Kind, std::string_view>, 3> kKinds = {
    {{Kind::kRead, "read"}, {Kind::kWrite, "write"}, {Kind::kWritePart, "write-part"}}};

using Pairs = std::vector<std::pair<std::string, std::string>>;

[[noreturn]] void refuse_address(std::string_view reason, std::string_view why) {
  throw Error(ErrorCode::kPermissionDenied, reason, str_cat("presigned URL: ", why));
}

[[noreturn]] void refuse_invalid() {
  refuse_address(reason::kUrlInvalid, "it was not signed by this server, or was changed since");
}

/// Lower-case hex. Each text has its length in front, so that no two grants have the same input.
std::string signature_of(std::string_view key, std::string_view address, Pairs pairs) {
  TARN_CHECK(key.size() == kKeyBytes);
  std::sort(pairs.begin(), pairs.end());
  std::string text = str_cat(kAlgorithm, "\n", address.size(), ":", address);
  for (const auto& [name, value] : pairs) {
    text += str_cat("\n", name.size(), ":", name, "=", value.size(), ":", value);
  }
  return to_hex(hmac_sha256(key, text));
}

Pairs pairs_of(const BlockGrant& grant) {
  Pairs out;
  const auto add = [&out](std::string_view name, std::string value) {
    out.emplace_back(name, std::move(value));
  };
  // Clients read these parameters to learn when the URL expires.
  add("X-Amz-Algorithm", std::string(kAlgorithm));
  add("X-Amz-Credential", grant.access_key_id);
  add("X-Amz-Date", to_iso_basic(grant.issued));
  add("X-Amz-Expires", std::to_string(grant.lifetime.count()));
  for (const auto& [kind, name] : kKinds) {
    if (kind == grant.kind) add("X-Tarn-Grant", std::string(name));
  }
  add("X-Tarn-User", grant.user);
  add("X-Tarn-Repository", grant.repository);
  add("X-Tarn-Path", grant.path);
  if (grant.kind == Kind::kRead) {
    add("X-Tarn-Ref", grant.ref);
    add("X-Tarn-Entry", to_base64url(grant.entry));
    return out;
  }
  add("X-Tarn-Branch", grant.branch);
  add("X-Tarn-Bytes-Max", std::to_string(grant.bytes_max));
  if (grant.kind == Kind::kWritePart) {
    add("X-Tarn-Upload", grant.upload_id);
    add("X-Tarn-Part", std::to_string(grant.part_number));
  }
  return out;
}

std::string text_of(const Pairs& pairs, std::string_view name) {
  for (const auto& [key, value] : pairs) {
    if (key == name) return value;
  }
  return "";
}

uint64_t number_of(const Pairs& pairs, std::string_view name) {
  const std::string text = text_of(pairs, name);
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// Reads parameters whose signature was verified.
BlockGrant grant_from(std::string address, const Pairs& pairs) {
  BlockGrant grant;
  const std::string kind_name = text_of(pairs, "X-Tarn-Grant");
  for (const auto& [kind, name] : kKinds) {
    if (name == kind_name) grant.kind = kind;
  }
  grant.address = std::move(address);
  grant.access_key_id = text_of(pairs, "X-Amz-Credential");
  grant.user = text_of(pairs, "X-Tarn-User");
  grant.repository = text_of(pairs, "X-Tarn-Repository");
  grant.branch = text_of(pairs, "X-Tarn-Branch");
  grant.ref = text_of(pairs, "X-Tarn-Ref");
  grant.path = text_of(pairs, "X-Tarn-Path");
  grant.entry = from_base64url(text_of(pairs, "X-Tarn-Entry")).value_or("");
  grant.bytes_max = number_of(pairs, "X-Tarn-Bytes-Max");
  grant.upload_id = text_of(pairs, "X-Tarn-Upload");
  grant.part_number = static_cast<uint32_t>(number_of(pairs, "X-Tarn-Part"));
  grant.issued = parse_iso_basic(text_of(pairs, "X-Amz-Date")).value_or(Instant{});
  grant.lifetime = std::chrono::seconds(number_of(pairs, "X-Amz-Expires"));
  return grant;
}

bool allows_method(Kind kind, std::string_view method) {
  return kind == Kind::kRead ? method == "GET" || method == "HEAD" : method == "PUT";
}

}  // namespace

bool is_block_request(const http::Request& request) {
  return request.raw_path().starts_with(kBlockPath);
}

std::string block_target(std::string_view key, const BlockGrant& grant) {
  const Pairs pairs = pairs_of(grant);
  std::string out = str_cat(kBlockPath, percent_encode(grant.address, /*keep_slash=*/true), "?");
  for (const auto& [name, value] : pairs) {
    out += str_cat(name, "=", percent_encode(value), "&");
  }
  return out + str_cat(kSignature, "=", signature_of(key, grant.address, pairs));
}

BlockGrant open_block_request(std::string_view key, const http::Request& request, Instant now) {
  auto address = percent_decode(request.raw_path().substr(kBlockPath.size()));
  if (!address) refuse_invalid();
  const http::Query query = http::Query::parse(request.raw_query());
  Pairs pairs;
  std::string signature;
  for (const auto& pair : query.all()) {
    if (pair.first != kSignature) {
      pairs.push_back(pair);
    } else if (signature.empty()) {
      signature = pair.second;
    } else {
      refuse_invalid();
    }
  }
  if (!constant_time_equal(signature, signature_of(key, *address, pairs))) refuse_invalid();
  BlockGrant grant = grant_from(*std::move(address), pairs);
  if (const Instant expires = grant.issued + grant.lifetime; now >= expires) {
    refuse_address(reason::kUrlExpired,
                   str_cat("it has expired: it was valid until ", to_rfc3339(expires),
                           ", the server's time is ", to_rfc3339(now), ", ",
                           time_apart(expires, now), " later; ask for a new one"));
  }
  if (!allows_method(grant.kind, request.method)) {
    refuse_address(reason::kUrlMethod, str_cat("it was not made for ", request.method));
  }
  return grant;
}

}  // namespace tarn::api
