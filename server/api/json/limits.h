// Limits of JSON request bodies, each with its reason.
#pragma once

#include <cstddef>

namespace tarn::api::json {

/// Fits a thousand paths of 1024 bytes, escaped.
constexpr size_t kBodyBytesMax = 5 * 1024 * 1024;
/// Limit for operations that need no account: login, first administrator.
constexpr size_t kOpenBodyBytesMax = 64 * 1024;
/// The deepest body of the API has four levels. Checked before parsing, because parsing and
/// destroying a document recurse once per level.
constexpr size_t kDepthMax = 64;
/// All values of a body, nested ones included: one takes up to a hundred bytes of memory.
constexpr size_t kValuesMax = 100'000;
/// Limit of one string: messages and metadata come back in listings of up to a thousand items.
constexpr size_t kTextBytesMax = 256 * 1024;
/// All names and texts of one map, for the same reason.
constexpr size_t kMapBytesMax = 256 * 1024;
/// Elements of one array; the longest array of real clients has a thousand paths.
constexpr size_t kItemsMax = 10'000;

/// Maximum number of paths in one archive.
constexpr size_t kArchivePathsMax = 100'000;
/// Fits the longest list of archive paths at 160 bytes each on average.
constexpr size_t kArchiveBodyBytesMax = 16 * 1024 * 1024;
constexpr size_t kArchiveValuesMax = kArchivePathsMax + 16;

}  // namespace tarn::api::json
