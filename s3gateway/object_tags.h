// Object tags: their rules and the x-amz-tagging header.
#pragma once

#include <string>
#include <string_view>

#include "core/model/entry.h"

namespace tarn::s3 {

// Source: S3's limits on object tags; lengths in characters.
constexpr size_t kTagsMax = 10;
constexpr size_t kTagKeyCharactersMax = 128;
constexpr size_t kTagValueCharactersMax = 256;

/// Throws InvalidTag.
void check_tags(const Metadata& tags);
/// "key=value&key2=value2", form-encoded. Throws InvalidArgument when it does not decode,
/// InvalidTag.
Metadata parse_tagging_header(std::string_view header);

}  // namespace tarn::s3
