// A browser's upload form: its fields, followed by its file as a stream.
#pragma once

#include <memory>
#include <string>

#include "core/http/message.h"

namespace tarn::s3 {

/// Total size of the names and values before the file. Source: S3's limit.
constexpr size_t kFormFieldsBytesMax = 20 * 1024;
/// Fields before the file: each is compared with every other, and no form needs more.
constexpr size_t kFormFieldsMax = 256;
/// Limit of the ignored data after the file.
constexpr size_t kAfterFileBytesMax = 20 * 1024;

struct PostForm {
  http::Headers fields;  ///< the fields before the file; no duplicates
  std::string key;       ///< the field "key" with ${filename} replaced
  /// The file's bytes. The final read also reads the form to its last boundary. Throws as
  /// read_post_form does.
  std::unique_ptr<http::BodySource> file;
};

/// Reads the body up to the first byte of the file and leaves `request` with an empty one. Throws
/// PreconditionFailed (no form), MalformedPOSTRequest, MaxPostPreDataLengthExceeded,
/// InvalidArgument (no file, no key, a field that is repeated or contains control characters),
/// InvalidURI and KeyTooLongError (an invalid key), and what the source throws.
PostForm read_post_form(http::Request& request);

}  // namespace tarn::s3
