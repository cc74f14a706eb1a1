// S3 settings of a bucket: tags, object ownership, public read access.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/model/entry.h"

namespace tarn {

/// Ownership of objects, by S3's names. All objects are the bucket owner's; the first one also
/// switches access control lists off.
enum class ObjectOwnership : uint8_t { kBucketOwnerEnforced, kBucketOwnerPreferred, kObjectWriter };

struct PublicAccessBlock {
  bool block_public_acls = false;        ///< no list that grants to everybody may be put
  bool ignore_public_acls = false;       ///< and one that is there grants nothing
  bool block_public_policy = false;      ///< kept and shown: buckets have no policies
  bool restrict_public_buckets = false;  ///< as above

  bool operator==(const PublicAccessBlock&) const = default;
};

struct BucketSettings {
  Metadata tags{};                             ///< empty = none
  std::optional<ObjectOwnership> ownership{};  ///< nullopt = never set
  std::optional<PublicAccessBlock> public_access_block{};
  bool public_read = false;  ///< the access control list lets everybody read

  bool acls_disabled() const { return ownership == ObjectOwnership::kBucketOwnerEnforced; }
  bool blocks_public_acls() const {
    return public_access_block && public_access_block->block_public_acls;
  }
  bool ignores_public_acls() const {
    return public_access_block && public_access_block->ignore_public_acls;
  }
  /// Whether the list is in force.
  bool readable_by_everybody() const {
    return public_read && !ignores_public_acls() && !acls_disabled();
  }
  bool operator==(const BucketSettings&) const = default;
};

/// The form in the database.
std::string encode_bucket_settings(const BucketSettings& settings);
/// Throws: data_loss.
BucketSettings decode_bucket_settings(std::string_view bytes);

}  // namespace tarn
