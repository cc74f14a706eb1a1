#include "server/web_bundle.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <vector>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::server {
namespace {

constexpr std::string_view kFirstLine = "tarn-web 1";

[[noreturn]] void throw_malformed(std::string_view why) {
  throw Error(ErrorCode::kInvalidArgument, str_cat("the bundle of the web interface ", why));
}

/// The text up to the separator, which is removed with it.
std::string_view take(std::string_view& rest, char separator) {
  const size_t end = rest.find(separator);
  if (end == std::string_view::npos) throw_malformed("is cut off");
  const std::string_view text = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return text;
}

struct Entry {
  std::string_view path;
  std::string_view content_type;
  std::string_view encoding;
  size_t length = 0;
};

Entry parse_entry(std::string_view line) {
  Entry entry;
  entry.path = take(line, '\t');
  entry.content_type = take(line, '\t');
  entry.encoding = take(line, '\t');
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), entry.length);
  if (error != std::errc() || end != line.data() + line.size()) throw_malformed("has no length");
  return entry;
}

std::string_view& body_of(WebBundle::File& file, std::string_view encoding) {
  if (encoding == "identity") return file.identity;
  if (encoding == "gzip") return file.gzip;
  if (encoding == "br") return file.brotli;
  throw_malformed("has an unknown encoding");
}

}  // namespace

WebBundle WebBundle::parse(std::string_view bytes) {
  WebBundle bundle;
  if (bytes.empty()) return bundle;
  if (take(bytes, '\n') != kFirstLine) throw_malformed("has another format");
  std::vector<Entry> entries;
  while (true) {
    const std::string_view line = take(bytes, '\n');
    if (line.empty()) break;
    entries.push_back(parse_entry(line));
  }
  for (const Entry& entry : entries) {
    if (entry.length > bytes.size()) throw_malformed("is cut off");
    File& file = bundle.files_[entry.path];
    file.content_type = entry.content_type;
    body_of(file, entry.encoding) = bytes.substr(0, entry.length);
    bytes.remove_prefix(entry.length);
  }
  return bundle;
}

const WebBundle::File* WebBundle::find(std::string_view path) const {
  const auto found = files_.find(path);
  return found == files_.end() ? nullptr : &found->second;
}

}  // namespace tarn::server
