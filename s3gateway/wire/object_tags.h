// Tags of objects and buckets: their limits, and the x-amz-tagging header.
#pragma once

#include <string>
#include <string_view>

#include "core/model/entry.h"

namespace tarn::s3 {

// Source: S3's limits on tags; lengths in characters.
constexpr size_t kTagsMax = 10;        ///< of an object
constexpr size_t kBucketTagsMax = 50;  ///< of a bucket
constexpr size_t kTagKeyCharactersMax = 128;
constexpr size_t kTagValueCharactersMax = 256;

/// Number of characters, not bytes.
size_t characters_of(std::string_view utf8);

/// Throws InvalidTag.
void check_tags(const Metadata& tags, size_t tags_max = kTagsMax);
/// Parses "key=value&key2=value2", form-encoded. Throws InvalidArgument for bad encoding,
/// InvalidTag.
Metadata parse_tagging_header(std::string_view header);

}  // namespace tarn::s3
