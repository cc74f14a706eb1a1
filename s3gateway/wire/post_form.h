// A browser's upload form: its fields, and behind them its file as a stream.
#pragma once

#include <memory>
#include <string>

#include "core/http/message.h"

namespace tarn::s3 {

/// Names and values of the fields before the file together. Source: S3's limit.
constexpr size_t kFormFieldsBytesMax = 20 * 1024;
/// Fields before the file: no form needs more, and each is compared with every other.
constexpr size_t kFormFieldsMax = 256;
/// Limit of the data behind the file, which is not read.
constexpr size_t kAfterFileBytesMax = 20 * 1024;

struct PostForm {
  http::Headers fields;  ///< those before the file; none occurs twice
  std::string key;       ///< the field "key" with ${filename} replaced
  /// The file's bytes. The read that meets their end has read the form to its last boundary. Throws
  /// as read_post_form does.
  std::unique_ptr<http::BodySource> file;
};

/// Reads a request's body, which becomes empty, up to the first byte of the file. Throws
/// PreconditionFailed (no form), MalformedPOSTRequest, MaxPostPreDataLengthExceeded,
/// InvalidArgument (no file, no key, a field that occurs twice or holds control characters),
/// InvalidURI and KeyTooLongError (a key that can be none), and what the source throws.
PostForm read_post_form(http::Request& request);

}  // namespace tarn::s3
