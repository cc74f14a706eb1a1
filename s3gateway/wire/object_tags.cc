#include "s3gateway/wire/object_tags.h"

#include <algorithm>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/http/message.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

constexpr std::string_view kSystemPrefix = "aws:";

}  // namespace

size_t characters_of(std::string_view utf8) {
  return static_cast<size_t>(std::count_if(utf8.begin(), utf8.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

void check_tags(const Metadata& tags, size_t tags_max) {
  if (tags.size() > tags_max) {
    throw Refusal(failure::kInvalidTag, str_cat(tags_max == kTagsMax ? "Object" : "Bucket",
                                                " tags cannot be more than ", tags_max, "."));
  }
  for (const auto& [key, value] : tags) {
    if (!is_utf8(key) || !is_utf8(value) || key.empty() ||
        characters_of(key) > kTagKeyCharactersMax ||
        characters_of(value) > kTagValueCharactersMax) {
      throw Refusal(failure::kInvalidTag,
                    "A tag's key must have 1 to 128 characters and its value at most 256.",
                    {{"TagKey", is_utf8(key) ? key : std::string()}});
    }
    if (key.starts_with(kSystemPrefix)) {
      throw Refusal(failure::kInvalidTag, "System tags cannot be added/updated by requester",
                    {{"TagKey", key}});
    }
  }
}

Metadata parse_tagging_header(std::string_view header) {
  Metadata tags;
  const http::Query query = http::Query::parse(header);
  for (const auto& [key, value] : query.all()) {
    if (!tags.emplace(key, value).second) {
      throw Refusal(failure::kInvalidTag, "A tag key occurs more than once in x-amz-tagging.",
                    {{"TagKey", key}});
    }
  }
  check_tags(tags);
  return tags;
}

}  // namespace tarn::s3
