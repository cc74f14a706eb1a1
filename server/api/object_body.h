// The bytes of an object as a response body.
#pragma once

#include <memory>

#include "core/blob/blob_store.h"
#include "core/http/message.h"

namespace tarn::api {

/// Makes the bytes of `range` the body of `response`: a file slice if the store has a file, else a
/// stream.
void send_object(std::unique_ptr<blob::BlobReader> reader, blob::ByteRange range,
                 http::Response& response);

}  // namespace tarn::api
