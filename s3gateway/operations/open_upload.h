// The multipart upload that a request refers to.
#pragma once

#include <string>
#include <string_view>

#include "core/base/reasons.h"
#include "core/objects/multipart.h"
#include "s3gateway/operations/call.h"
#include "s3gateway/wire/address.h"

namespace tarn::s3 {

/// Reason of the Error for NoSuchUpload.
constexpr std::string_view kNoSuchUploadReason = reason::kNoSuchUpload;

/// Throws NoSuchUpload for an id that is unknown, completed, aborted, or of another bucket, branch
/// or key.
objects::MultipartUpload open_upload(Call& call, const Location& location,
                                     std::string_view upload_id);

/// Throws InvalidArgument unless it is a number from 1 to 10000.
uint32_t check_part_number(const std::string& text);

}  // namespace tarn::s3
