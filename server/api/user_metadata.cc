#include "server/api/user_metadata.h"

#include <string>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn::api {
namespace {

std::string to_utf8(std::string_view value) {
  if (is_utf8(value)) return std::string(value);
  std::string out;
  for (const char c : value) append_utf8(out, static_cast<unsigned char>(c));  // Latin-1
  return out;
}

}  // namespace

Metadata metadata_of(const http::Headers& headers) {
  constexpr std::string_view kUser = "x-lakefs-meta-";
  constexpr std::string_view kInternal = "x-lakefs-internal-";
  Metadata out;
  for (const auto& [field, value] : headers.all()) {
    if (field.size() <= kUser.size()) continue;
    const std::string name = lower(field);
    if (name.starts_with(kUser)) {
      out[name.substr(kUser.size())] = to_utf8(value);
    } else if (name.starts_with(kInternal) && name.size() > kInternal.size()) {
      out["::lakefs::" + name.substr(kInternal.size())] = to_utf8(value);
    }
  }
  return out;
}

void check_user_metadata(const Metadata& metadata) {
  size_t bytes = 0;
  for (const auto& [name, value] : metadata) bytes += name.size() + value.size();
  if (bytes > kUserMetadataBytesMax) {
    throw Error(
        ErrorCode::kInvalidArgument, reason::kMetadataTooLarge,
        str_cat("user metadata of ", bytes, " bytes: the limit is ", kUserMetadataBytesMax));
  }
}

}  // namespace tarn::api
