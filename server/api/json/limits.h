// Limits of what a JSON request body may be, each with its reason.
#pragma once

#include <cstddef>

namespace tarn::api::json {

/// A thousand paths of 1024 bytes, escaped, fit; more would be held in memory before anybody is
/// authenticated.
constexpr size_t kBodyBytesMax = 5 * 1024 * 1024;
/// The deepest body of the API nests four levels. The limit is checked before parsing: parsing and
/// destroying a document recurse once per level.
constexpr size_t kDepthMax = 64;

}  // namespace tarn::api::json
