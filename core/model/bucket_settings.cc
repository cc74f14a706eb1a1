#include "core/model/bucket_settings.h"

#include "core/base/wire.h"

namespace tarn {
namespace {

constexpr uint8_t kSettingsVersion = 1;
constexpr uint8_t kNotSet = 0xff;

constexpr uint8_t kBlockPublicAcls = 1;
constexpr uint8_t kIgnorePublicAcls = 2;
constexpr uint8_t kBlockPublicPolicy = 4;
constexpr uint8_t kRestrictPublicBuckets = 8;

uint8_t bits_of(const PublicAccessBlock& block) {
  return static_cast<uint8_t>((block.block_public_acls ? kBlockPublicAcls : 0) |
                              (block.ignore_public_acls ? kIgnorePublicAcls : 0) |
                              (block.block_public_policy ? kBlockPublicPolicy : 0) |
                              (block.restrict_public_buckets ? kRestrictPublicBuckets : 0));
}

}  // namespace

std::string encode_bucket_settings(const BucketSettings& settings) {
  std::string out(1, static_cast<char>(kSettingsVersion));
  put_varint(out, settings.tags.size());
  for (const auto& [key, value] : settings.tags) {
    put_bytes(out, key);
    put_bytes(out, value);
  }
  out.push_back(
      static_cast<char>(settings.ownership ? static_cast<uint8_t>(*settings.ownership) : kNotSet));
  out.push_back(static_cast<char>(
      settings.public_access_block ? bits_of(*settings.public_access_block) : kNotSet));
  out.push_back(static_cast<char>(settings.public_read));
  return out;
}

BucketSettings decode_bucket_settings(std::string_view bytes) {
  WireReader in(bytes, "bucket settings");
  if (in.u8() != kSettingsVersion) in.fail("unknown version");
  BucketSettings out;
  for (uint64_t count = in.varint(); count > 0; --count) {
    std::string key(in.bytes());
    out.tags[std::move(key)] = std::string(in.bytes());
  }
  if (const uint8_t ownership = in.u8(); ownership != kNotSet) {
    if (ownership > static_cast<uint8_t>(ObjectOwnership::kObjectWriter)) in.fail("unknown owner");
    out.ownership = static_cast<ObjectOwnership>(ownership);
  }
  if (const uint8_t bits = in.u8(); bits != kNotSet) {
    out.public_access_block = {.block_public_acls = (bits & kBlockPublicAcls) != 0,
                               .ignore_public_acls = (bits & kIgnorePublicAcls) != 0,
                               .block_public_policy = (bits & kBlockPublicPolicy) != 0,
                               .restrict_public_buckets = (bits & kRestrictPublicBuckets) != 0};
  }
  out.public_read = in.u8() == 1;
  in.expect_end();
  return out;
}

}  // namespace tarn
