// Content types of new objects, by the extension of their names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tarn {

/// The content type of objects of which nothing better is known.
constexpr std::string_view kDefaultContentType = "application/octet-stream";

/// The type that the extension of a path has; "" where it has none, or an unknown one. The case of
/// the extension does not matter, and a name that begins with its only dot has no extension.
std::string_view content_type_of_path(std::string_view path);

/// The type of a new object: `given`, or that of its path if `given` is empty or
/// kDefaultContentType, which clients send of files that they do not know.
std::string content_type_of_new(std::string given, std::string_view path);

/// All extensions, sorted, each with its type.
std::span<const std::pair<std::string_view, std::string_view>> content_types_by_extension();

}  // namespace tarn
