#include "core/objects/content_check.h"

#include <utility>
#include <vector>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"

namespace tarn::objects {
namespace {

constexpr size_t kMd5Bytes = 16;
constexpr std::string_view kMd5 = "md5";
constexpr std::string_view kFastestFirst[] = {"crc64nvme", "crc32c", "crc32",
                                              "sha1",      kMd5,     "sha256"};
constexpr std::string_view kStrongestFirst[] = {"sha256",    "sha1",   kMd5,
                                                "crc64nvme", "crc32c", "crc32"};

std::variant<Digest, Crc> state_of(std::string_view algorithm) {
  if (algorithm == "crc64nvme") return Crc(CrcKind::kCrc64Nvme);
  if (algorithm == "crc32c") return Crc(CrcKind::kCrc32c);
  if (algorithm == "crc32") return Crc(CrcKind::kCrc32);
  if (algorithm == "sha1") return Digest(DigestAlgorithm::kSha1);
  if (algorithm == "sha256") return Digest(DigestAlgorithm::kSha256);
  return Digest(DigestAlgorithm::kMd5);
}

/// Algorithm and raw digest of everything that the entry records of its whole bytes.
std::vector<std::pair<std::string, std::string>> recorded_digests(const Entry& entry) {
  std::vector<std::pair<std::string, std::string>> out;
  const auto md5 = from_hex(entry.etag);
  if (md5 && md5->size() == kMd5Bytes) out.emplace_back(kMd5, *md5);
  if (const auto sha256 = whole_sha256(entry); !sha256.empty()) out.emplace_back("sha256", sha256);
  for (const Checksum& checksum : entry.checksums()) {
    if (!checksum.composite) out.emplace_back(checksum.algorithm, checksum.digest);
  }
  return out;
}

}  // namespace

ContentCheck::ContentCheck(std::string algorithm, std::string recorded)
    : algorithm_(std::move(algorithm)),
      recorded_(std::move(recorded)),
      state_(state_of(algorithm_)) {}

std::optional<ContentCheck> ContentCheck::of(const Entry& entry, DigestChoice choice) {
  if (std::holds_alternative<ExternalAddress>(entry.address) || entry.source_version()) return {};
  auto recorded = recorded_digests(entry);
  for (const std::string_view algorithm :
       choice == DigestChoice::kFastest ? kFastestFirst : kStrongestFirst) {
    for (auto& [name, digest] : recorded) {
      if (name == algorithm) return ContentCheck(std::move(name), std::move(digest));
    }
  }
  return {};
}

void ContentCheck::update(std::string_view bytes) {
  std::visit([bytes](auto& state) { state.update(bytes); }, state_);
}

bool ContentCheck::matches() {
  if (auto* digest = std::get_if<Digest>(&state_)) computed_ = digest->finish();
  if (const auto* crc = std::get_if<Crc>(&state_)) computed_ = crc->digest();
  return computed_ == recorded_;
}

std::string ContentCheck::expected() const { return str_cat(algorithm_, " ", to_hex(recorded_)); }
std::string ContentCheck::found() const { return str_cat(algorithm_, " ", to_hex(computed_)); }

}  // namespace tarn::objects
