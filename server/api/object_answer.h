// The response that contains an object: headers, the requested range, the bytes.
#pragma once

#include <string>
#include <string_view>

#include "core/branch/engine.h"
#include "core/http/message.h"
#include "core/model/repository.h"
#include "core/objects/checked_read.h"

namespace tarn::api {

/// `kind` ("inline", "attachment") with the last segment of `path` as the file's name, in ASCII
/// and, where that loses something, in UTF-8 too. Source: RFC 6266. A path that ends in a slash
/// names no file.
std::string content_disposition(std::string_view kind, std::string_view path);

std::string quoted_etag(const Entry& entry);

/// Answers GET or HEAD for an entry of the repository at `path`: 200, 206, or 416 for an
/// unsatisfiable range. The bytes of a whole object are compared as `check` says. Throws what
/// objects::open_object does.
http::Response object_answer(branch::Engine& engine, const http::Request& request,
                             const Repository& repository, std::string_view path,
                             const Entry& entry, objects::ReadCheck check);

}  // namespace tarn::api
