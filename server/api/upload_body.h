// The two body forms of an upload, as the stream that core/versioning stores.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "core/http/message.h"
#include "core/objects/upload.h"

namespace tarn::api {

/// The bytes of an object, the content type that the client sent ("" = none) and the size if it is
/// known in advance.
struct IncomingObject {
  std::unique_ptr<objects::UploadBody> body;
  std::string content_type;
  std::optional<uint64_t> size_bytes;
};

/// Starts reading: a form (up to its part `content`) or the raw body, by Content-Type. The request
/// outlives the result. Throws invalid_argument: a form without such a part; resource_exhausted
/// (reason "body_too_large"), here or while reading: more than `bytes_max`.
IncomingObject open_upload(http::Request& request, uint64_t bytes_max);
/// The same as open_upload, but always reads the raw body.
IncomingObject open_raw_upload(http::Request& request, uint64_t bytes_max);

}  // namespace tarn::api
