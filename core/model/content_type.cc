#include "core/model/content_type.h"

#include <algorithm>
#include <array>

#include "core/base/text.h"

namespace tarn {
namespace {

using Row = std::pair<std::string_view, std::string_view>;

/// Registered types where there is one, else the usual name. Sorted by extension.
constexpr auto kTypes = std::to_array<Row>({
    Row{"7z", "application/x-7z-compressed"},
    Row{"aac", "audio/aac"},
    Row{"arrow", "application/vnd.apache.arrow.file"},
    Row{"arrows", "application/vnd.apache.arrow.stream"},
    Row{"avi", "video/x-msvideo"},
    Row{"avif", "image/avif"},
    Row{"bmp", "image/bmp"},
    Row{"bz2", "application/x-bzip2"},
    Row{"c", "text/x-c"},
    Row{"cc", "text/x-c"},
    Row{"conf", "text/plain"},
    Row{"cpp", "text/x-c"},
    Row{"css", "text/css"},
    Row{"csv", "text/csv"},
    Row{"doc", "application/msword"},
    Row{"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
    Row{"feather", "application/vnd.apache.arrow.file"},
    Row{"flac", "audio/flac"},
    Row{"geojson", "application/geo+json"},
    Row{"gif", "image/gif"},
    Row{"gz", "application/gzip"},
    Row{"h", "text/x-c"},
    Row{"h5", "application/x-hdf5"},
    Row{"hdf5", "application/x-hdf5"},
    Row{"heic", "image/heic"},
    Row{"hpp", "text/x-c"},
    Row{"htm", "text/html"},
    Row{"html", "text/html"},
    Row{"ico", "image/vnd.microsoft.icon"},
    Row{"ini", "text/plain"},
    Row{"ipynb", "application/x-ipynb+json"},
    Row{"java", "text/x-java-source"},
    Row{"jpeg", "image/jpeg"},
    Row{"jpg", "image/jpeg"},
    Row{"js", "text/javascript"},
    Row{"json", "application/json"},
    Row{"jsonl", "application/x-ndjson"},
    Row{"log", "text/plain"},
    Row{"m4a", "audio/mp4"},
    Row{"m4v", "video/mp4"},
    Row{"markdown", "text/markdown"},
    Row{"md", "text/markdown"},
    Row{"mjs", "text/javascript"},
    Row{"mkv", "video/x-matroska"},
    Row{"mov", "video/quicktime"},
    Row{"mp3", "audio/mpeg"},
    Row{"mp4", "video/mp4"},
    Row{"nc", "application/x-netcdf"},
    Row{"ndjson", "application/x-ndjson"},
    Row{"oga", "audio/ogg"},
    Row{"ogg", "audio/ogg"},
    Row{"ogv", "video/ogg"},
    Row{"opus", "audio/ogg"},
    Row{"parquet", "application/vnd.apache.parquet"},
    Row{"pdf", "application/pdf"},
    Row{"png", "image/png"},
    Row{"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
    Row{"pq", "application/vnd.apache.parquet"},
    Row{"py", "text/x-python"},
    Row{"rst", "text/x-rst"},
    Row{"rtf", "application/rtf"},
    Row{"sh", "application/x-sh"},
    Row{"sql", "application/sql"},
    Row{"svg", "image/svg+xml"},
    Row{"tar", "application/x-tar"},
    Row{"text", "text/plain"},
    Row{"tgz", "application/gzip"},
    Row{"tif", "image/tiff"},
    Row{"tiff", "image/tiff"},
    Row{"toml", "application/toml"},
    Row{"tsv", "text/tab-separated-values"},
    Row{"txt", "text/plain"},
    Row{"wasm", "application/wasm"},
    Row{"wav", "audio/wav"},
    Row{"webm", "video/webm"},
    Row{"webp", "image/webp"},
    Row{"woff", "font/woff"},
    Row{"woff2", "font/woff2"},
    Row{"xhtml", "application/xhtml+xml"},
    Row{"xls", "application/vnd.ms-excel"},
    Row{"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
    Row{"xml", "application/xml"},
    Row{"xz", "application/x-xz"},
    Row{"yaml", "application/yaml"},
    Row{"yml", "application/yaml"},
    Row{"zip", "application/zip"},
    Row{"zst", "application/zstd"},
});
static_assert(std::is_sorted(kTypes.begin(), kTypes.end()));

}  // namespace

std::string_view content_type_of_path(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return {};
  const std::string extension = lower(name.substr(dot + 1));
  const auto at =
      std::lower_bound(kTypes.begin(), kTypes.end(), extension,
                       [](const Row& row, std::string_view wanted) { return row.first < wanted; });
  return at != kTypes.end() && at->first == extension ? at->second : std::string_view{};
}

std::string content_type_of_new(std::string given, std::string_view path) {
  if (!given.empty() && given != kDefaultContentType) return given;
  const std::string_view known = content_type_of_path(path);
  return std::string(known.empty() ? kDefaultContentType : known);
}

std::span<const std::pair<std::string_view, std::string_view>> content_types_by_extension() {
  return kTypes;
}

}  // namespace tarn
