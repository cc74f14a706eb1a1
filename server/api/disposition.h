// The Content-Disposition of an answer that is a file.
#pragma once

#include <string>
#include <string_view>

namespace tarn::api {

/// `kind` ("inline", "attachment") with the last segment of `path` as the file's name, in ASCII
/// and, where that loses something, in UTF-8 too. Source: RFC 6266. A path that ends in a slash
/// names no file.
std::string content_disposition(std::string_view kind, std::string_view path);

}  // namespace tarn::api
