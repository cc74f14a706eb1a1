// Limits on a body's length in PutObject and UploadPart.
#pragma once

#include <cstdint>
#include <optional>

#include "s3gateway/operations/call.h"

namespace tarn::s3 {

/// Source: S3's limit for one PUT or part.
constexpr uint64_t kSinglePutBytesMax = 5ULL * 1024 * 1024 * 1024;

/// Throws MissingContentLength (neither a length nor HTTP chunks), EntityTooLarge. Defined in
/// put_object.cc.
void check_upload_length(const Call& call, std::optional<uint64_t> length);

}  // namespace tarn::s3
