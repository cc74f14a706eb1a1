#include "s3gateway/wire/checksums.h"

#include <array>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/range.h"

namespace tarn::s3 {
namespace {

struct Names {
  std::string_view algorithm;
  std::string_view upper;
  std::string_view element;
  std::string_view header;
  size_t digest_bytes;
};
constexpr std::array kNames{
    Names{"crc32", "CRC32", "ChecksumCRC32", "x-amz-checksum-crc32", 4},
    Names{"crc32c", "CRC32C", "ChecksumCRC32C", "x-amz-checksum-crc32c", 4},
    Names{"crc64nvme", "CRC64NVME", "ChecksumCRC64NVME", "x-amz-checksum-crc64nvme", 8},
    Names{"sha1", "SHA1", "ChecksumSHA1", "x-amz-checksum-sha1", 20},
    Names{"sha256", "SHA256", "ChecksumSHA256", "x-amz-checksum-sha256", 32},
};
constexpr uint32_t kPartsMax = 10'000;

const Names* names_of(std::string_view algorithm) {
  for (const Names& names : kNames) {
    if (names.algorithm == algorithm) return &names;
  }
  return nullptr;
}

}  // namespace

bool has_checksum_header(const http::Headers& headers) {
  for (const Names& names : kNames) {
    if (headers.find(names.header)) return true;
  }
  return false;
}

std::string require_algorithm(std::string_view name) {
  const auto algorithm = sigv4::parse_checksum_algorithm(name);
  if (algorithm) return std::string(sigv4::name_of(*algorithm));
  throw Refusal(
      failure::kInvalidRequest,
      "Checksum algorithm provided is unsupported. Please try again with any of the valid types: "
      "[CRC32, CRC32C, CRC64NVME, SHA1, SHA256]");
}

std::string_view element_of(std::string_view algorithm) {
  const Names* names = names_of(algorithm);
  return names ? names->element : std::string_view();
}

std::string header_of(std::string_view algorithm) { return str_cat("x-amz-checksum-", algorithm); }

std::string_view upper_name_of(std::string_view algorithm) {
  const Names* names = names_of(algorithm);
  return names ? names->upper : std::string_view();
}

std::string text_of(const Checksum& checksum) {
  std::string text = to_base64(checksum.digest);
  if (checksum.composite) text += str_cat('-', checksum.parts);
  return text;
}

std::string_view type_of(const Checksum& checksum) {
  return checksum.composite ? "COMPOSITE" : "FULL_OBJECT";
}

Checksum parse_checksum(std::string_view algorithm, std::string_view text) {
  const Names* names = names_of(algorithm);
  Checksum out;
  out.algorithm = std::string(algorithm);
  // base64 does not contain '-'.
  const size_t dash = text.find('-');
  std::optional<std::string> digest = from_base64(text.substr(0, dash));
  std::optional<uint64_t> parts = 0;
  if (dash != std::string_view::npos) {
    parts = parse_decimal(text.substr(dash + 1));
    out.composite = true;
  }
  if (!names || !digest || digest->size() != names->digest_bytes || !parts || *parts > kPartsMax) {
    throw Refusal(failure::kInvalidRequest,
                  str_cat("Value for x-amz-checksum-", algorithm,
                          " is invalid: it must be the base64 of the ", "checksum's bytes."));
  }
  out.digest = std::move(*digest);
  out.parts = static_cast<uint32_t>(*parts);
  return out;
}

std::vector<Checksum> checksum_headers(const http::Headers& headers) {
  std::vector<Checksum> out;
  for (const Names& names : kNames) {
    if (const std::string* text = headers.find(names.header)) {
      out.push_back(parse_checksum(names.algorithm, *text));
    }
  }
  return out;
}

std::vector<Checksum> kept_checksums(const sigv4::PayloadResult& result) {
  const sigv4::ChecksumAlgorithm algorithm =
      result.declared.value_or(sigv4::ChecksumAlgorithm::kCrc64Nvme);
  const std::string* digest = result.checksum(algorithm);
  if (!digest) return {};
  return {Checksum{std::string(sigv4::name_of(algorithm)), false, *digest, 0}};
}

sigv4::PayloadOptions payload_options(const http::Headers& headers) {
  sigv4::PayloadOptions options;
  options.crc64nvme = !has_checksum_header(headers);
  return options;
}

void add_checksum_headers(http::Headers& headers, const std::vector<Checksum>& checksums) {
  if (!checksums.empty()) add_checksum_headers(headers, checksums, type_of(checksums.front()));
}

void add_checksum_headers(http::Headers& headers, const std::vector<Checksum>& checksums,
                          std::string_view type) {
  for (const Checksum& checksum : checksums) {
    headers.add(header_of(checksum.algorithm), text_of(checksum));
  }
  if (!checksums.empty()) headers.add("x-amz-checksum-type", std::string(type));
}

}  // namespace tarn::s3
