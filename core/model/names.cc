#include "core/model/names.h"

#include <algorithm>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/hidden_characters.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn {
namespace {

constexpr size_t kRefNameBytesMax = 255;

bool is_lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

}  // namespace

bool is_repository_name(std::string_view text) {
  return text.size() >= 3 && text.size() <= 63 && is_lower_or_digit(text.front()) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return is_lower_or_digit(c) || c == '-'; });
}

bool is_branch_name(std::string_view text) {
  return !text.empty() && text.size() <= kRefNameBytesMax && is_word(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_word(c) || c == '-'; });
}

bool is_tag_name(std::string_view text) {
  if (text.empty() || text.size() > kRefNameBytesMax || !is_utf8(text)) return false;
  for (char c : text) {
    // '~', '@' and '$' are ref modifiers: a tag that contains one could be created but never read.
    if (is_control(c) || c == ' ') return false;
    if (std::string_view("/^:?*[\\~@$").find(c) != std::string_view::npos) return false;
  }
  return text.find("..") == std::string_view::npos && text.back() != '.' &&
         !text.ends_with(".lock");
}

RepositoryName parse_repository_name(std::string_view text) {
  if (!is_repository_name(text)) {
    throw_invalid(str_cat("repository name \"", text,
                          "\": must be 3 to 63 lower-case letters, digits and hyphens, "
                          "not starting with a hyphen"));
  }
  return RepositoryName(std::string(text));
}

BranchName parse_branch_name(std::string_view text) {
  if (!is_branch_name(text)) {
    throw_invalid(str_cat("branch id \"", text,
                          "\": must be letters, digits, underscores and hyphens, "
                          "not starting with a hyphen"));
  }
  return BranchName(std::string(text));
}

TagName parse_tag_name(std::string_view text) {
  if (!is_tag_name(text)) {
    throw_invalid(str_cat("tag id \"", text,
                          "\": must not hold spaces, '/', '..' or any of ^:?*[\\~@$, nor end in "
                          "'.' or '.lock'"));
  }
  return TagName(std::string(text));
}

TagName parse_new_tag_name(std::string_view text) {
  TagName name = parse_tag_name(text);
  if (holds_hidden_characters(text) || begins_or_ends_with_space(text)) {
    throw_invalid(
        "tag id: must not hold characters that are invisible or change the direction of writing, "
        "nor begin or end with a space");
  }
  return name;
}

Key parse_key(std::string_view text) {
  if (text.empty()) throw_invalid("argument path: missing path");
  if (text.size() > kKeyBytesMax) {
    throw Error(
        ErrorCode::kInvalidArgument, reason::kKeyTooLong,
        str_cat("argument path: ", text.size(), " is above maximum length (", kKeyBytesMax, ")"));
  }
  if (text.find('\0') != std::string_view::npos) {
    throw Error(ErrorCode::kInvalidArgument, reason::kInvalidKey,
                "argument path: holds a NUL byte");
  }
  if (!is_utf8(text)) {
    throw Error(ErrorCode::kInvalidArgument, reason::kInvalidKey, "argument path: is not UTF-8");
  }
  return Key(std::string(text));
}

bool is_plain_path(std::string_view key) {
  if (has_control(key) || key.find('\\') != std::string_view::npos) return false;
  if (key.ends_with('/')) key.remove_suffix(1);
  for (size_t at = 0; at <= key.size();) {
    const size_t slash = std::min(key.find('/', at), key.size());
    const std::string_view segment = key.substr(at, slash - at);
    if (segment.empty() || segment == "." || segment == "..") return false;
    at = slash + 1;
  }
  return true;
}

std::string prefix_end(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty()) {
    if (static_cast<unsigned char>(end.back()) != 0xff) {
      end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
      return end;
    }
    end.pop_back();
  }
  return end;
}

}  // namespace tarn
