#include "s3gateway/wire/copy_source.h"

#include "core/base/encoding.h"
#include "s3gateway/wire/address.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

constexpr std::string_view kVersionQuery = "?versionId=";

[[noreturn]] void refuse_source() {
  throw Refusal(failure::kInvalidArgument,
                "The header x-amz-copy-source must be \"bucket/key\", percent-encoded, optionally "
                "followed by \"?versionId=\" and a version.",
                {{"ArgumentName", "x-amz-copy-source"}});
}

std::string decode(std::string_view text) {
  std::optional<std::string> out = form_decode(text);
  if (!out) refuse_source();
  check_key_bytes(*out);
  return std::move(*out);
}

}  // namespace

CopySourceHeader parse_copy_source(std::string_view header) {
  CopySourceHeader out;
  if (const size_t query = header.find(kVersionQuery); query != std::string_view::npos) {
    out.version_id = decode(header.substr(query + kVersionQuery.size()));
    if (out.version_id->empty()) {
      throw Refusal(failure::kInvalidArgument, "Version id cannot be the empty string",
                    {{"ArgumentName", "x-amz-copy-source"}});
    }
    header = header.substr(0, query);
  }
  // Some clients encode the whole header, its slashes included.
  std::string whole = decode(header);
  if (whole.starts_with('/')) whole.erase(0, 1);
  const size_t slash = whole.find('/');
  if (slash == std::string::npos) refuse_source();
  out.bucket = whole.substr(0, slash);
  out.key = whole.substr(slash + 1);
  if (out.bucket.empty() || out.key.empty()) refuse_source();
  return out;
}

}  // namespace tarn::s3
