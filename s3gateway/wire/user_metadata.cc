#include "s3gateway/wire/user_metadata.h"

#include <algorithm>
#include <set>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"
#include "s3gateway/wire/errors.h"

namespace tarn::s3 {
namespace {

constexpr std::string_view kMetadataPrefix = "x-amz-meta-";
constexpr std::string_view kLakeFsPrefix = "X-Amz-Meta-";
constexpr std::string_view kInternalPrefix = "::lakefs::";
constexpr std::string_view kWordOpen = "=?";
constexpr std::string_view kWordClose = "?=";

/// Whether the text can be a header as it is.
bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 0x20 && c < 0x7f) || c == '\t'; });
}

std::optional<std::string> decode_q(std::string_view text) {
  std::string percent(text);
  for (char& c : percent) {
    if (c == '%') return std::nullopt;  // would be decoded as an escape below
    if (c == '=') c = '%';
    if (c == '_') c = ' ';
  }
  return percent_decode(percent);
}

/// Removes lakeFS's prefix. Names stored over S3 are lower case, so they never match it.
std::string_view without_prefix(std::string_view name) {
  if (name.starts_with(kLakeFsPrefix)) name.remove_prefix(kLakeFsPrefix.size());
  return name;
}

/// Decodes the encoded word at the start of `text`, which begins with "=?", and sets `length`.
/// nullopt unless it is UTF-8.
std::optional<std::string> decode_word(std::string_view text, size_t& length) {
  const size_t charset_end = text.find('?', kWordOpen.size());
  if (charset_end == std::string_view::npos || charset_end + 2 >= text.size()) return std::nullopt;
  const std::string charset = lower(text.substr(kWordOpen.size(), charset_end - kWordOpen.size()));
  if (charset != "utf-8" || text[charset_end + 2] != '?') return std::nullopt;
  const size_t start = charset_end + 3;
  const size_t end = text.find(kWordClose, start);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view payload = text.substr(start, end - start);
  length = end + kWordClose.size();
  switch (text[charset_end + 1]) {
    case 'B':
    case 'b':
      return from_base64(payload);
    case 'Q':
    case 'q':
      return decode_q(payload);
    default:
      return std::nullopt;
  }
}

}  // namespace

std::string encode_words(std::string_view text) {
  // Text that holds an encoded word must be encoded, or decoding would change it.
  if (is_plain(text) && decode_words(text) == text) return std::string(text);
  return str_cat("=?UTF-8?B?", to_base64(text), kWordClose);
}

std::string decode_words(std::string_view text) {
  std::string out;
  bool after_word = false;
  while (!text.empty()) {
    size_t length = 0;
    const size_t open = text.find(kWordOpen);
    if (open == std::string_view::npos) break;
    const std::string_view between = text.substr(0, open);
    const auto word = decode_word(text.substr(open), length);
    // Whitespace between two encoded words is only a separator.
    const bool separator =
        after_word && word && between.find_first_not_of(" \t") == std::string_view::npos;
    if (!separator) out.append(between);
    out.append(word ? std::string_view(*word) : kWordOpen);
    text.remove_prefix(open + (word ? length : kWordOpen.size()));
    after_word = word.has_value();
  }
  return out.append(text);
}

Metadata parse_user_metadata(const http::Headers& headers) {
  Metadata out;
  size_t bytes = 0;
  for (const auto& [name, value] : headers.all()) {
    if (name.size() <= kMetadataPrefix.size() ||
        !starts_with_ignoring_case(name, kMetadataPrefix)) {
      continue;
    }
    const std::string short_name = lower(std::string_view(name).substr(kMetadataPrefix.size()));
    std::string text = decode_words(value);
    if (!is_utf8(text)) {
      throw Refusal(failure::kInvalidArgument, "User metadata must be UTF-8.",
                    {{"ArgumentName", name}});
    }
    bytes += short_name.size() + text.size();
    const auto [same, first] = out.emplace(short_name, text);
    if (!first) same->second.append(",").append(text);
  }
  if (bytes > kUserMetadataBytesMax) {
    throw Refusal(failure::kMetadataTooLarge,
                  str_cat("Your metadata headers exceed the maximum allowed metadata size of ",
                          kUserMetadataBytesMax, " bytes."));
  }
  return out;
}

void add_user_metadata(http::Headers& headers, const Metadata& metadata) {
  if (metadata.empty()) return;
  std::set<std::string> shown;
  size_t missing = 0;
  for (const auto& [name, value] : metadata) {
    if (name.starts_with(kInternalPrefix)) continue;
    std::string header = lower(without_prefix(name));
    if (!is_token(header) || !shown.insert(header).second) {
      ++missing;
      continue;
    }
    headers.add(str_cat(kMetadataPrefix, header), encode_words(value));
  }
  if (missing > 0) headers.add("x-amz-missing-meta", std::to_string(missing));
}

}  // namespace tarn::s3
