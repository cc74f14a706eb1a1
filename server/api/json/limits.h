// Limits of what a JSON request body may be, each with its reason.
#pragma once

#include <cstddef>

namespace tarn::api::json {

/// A thousand paths of 1024 bytes, escaped, fit.
constexpr size_t kBodyBytesMax = 5 * 1024 * 1024;
/// A body of an operation that needs no account: a login, the first administrator.
constexpr size_t kOpenBodyBytesMax = 64 * 1024;
/// The deepest body of the API nests four levels. The limit is checked before parsing: parsing and
/// destroying a document recurse once per level.
constexpr size_t kDepthMax = 64;
/// Values of a body in all, nested ones too: one takes up to a hundred bytes of memory.
constexpr size_t kValuesMax = 100'000;
/// One text: messages and metadata come back in listings of up to a thousand.
constexpr size_t kTextBytesMax = 256 * 1024;
/// All names and texts of one map, for the same reason.
constexpr size_t kMapBytesMax = 256 * 1024;
/// Elements of one array; the longest that a client sends in earnest are a thousand paths.
constexpr size_t kItemsMax = 10'000;

/// Paths of one archive.
constexpr size_t kArchivePathsMax = 100'000;
/// A body that names them: paths of 160 bytes on average fit.
constexpr size_t kArchiveBodyBytesMax = 16 * 1024 * 1024;
constexpr size_t kArchiveValuesMax = kArchivePathsMax + 16;

}  // namespace tarn::api::json
