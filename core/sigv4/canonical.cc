#include "core/sigv4/canonical.h"

#include <algorithm>

#include "core/base/digest.h"
#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn::sigv4 {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

bool is_blank(char c) { return c == ' ' || c == '\t'; }

/// The byte at `at` ("%41" or a plain one); advances `at` to its last character.
char byte_at(std::string_view text, size_t& at, bool& escaped) {
  escaped = false;
  if (text[at] == '%' && at + 2 < text.size()) {
    if (const auto byte = from_hex(text.substr(at + 1, 2))) {
      at += 2;
      escaped = true;
      return (*byte)[0];
    }
  }
  return text[at];
}

std::string recoded_path(std::string_view raw_path, bool keep_escaped_slash) {
  std::string out;
  out.reserve(raw_path.size());
  for (size_t i = 0; i < raw_path.size(); ++i) {
    if (is_letter(raw_path[i]) || is_digit(raw_path[i])) {
      out.push_back(raw_path[i]);  // most bytes of most paths
      continue;
    }
    bool escaped = false;
    const char byte = byte_at(raw_path, i, escaped);
    if (byte == '/') {
      out.append(escaped && keep_escaped_slash ? "%2F" : "/");
    } else {
      out.append(percent_encode({&byte, 1}));
    }
  }
  return out;
}

/// The order of the values of a repeated name: AWS sorts them, Go's url.Values keeps their order.
enum class RepeatedNames { kByValue, kAsSent };

std::string canonical_query(std::string_view raw_query, std::string_view without,
                            bool plus_is_space, RepeatedNames repeated) {
  std::vector<std::pair<std::string, std::string>> pairs;
  const auto recoded = [plus_is_space](std::string_view raw) {
    std::string text(raw);
    if (plus_is_space) std::replace(text.begin(), text.end(), '+', ' ');
    return percent_encode(decoded(text));
  };
  for (const auto& [name, value] : raw_query_pairs(raw_query)) {
    if (!without.empty() && is_parameter(name, without)) continue;
    pairs.emplace_back(recoded(name), recoded(value));
  }
  if (repeated == RepeatedNames::kByValue) std::sort(pairs.begin(), pairs.end());
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string out;
  for (const auto& [name, value] : pairs) {
    if (!out.empty()) out.push_back('&');
    out.append(name).append("=").append(value);
  }
  return out;
}

void add_once(std::vector<std::string>& list, std::string text) {
  if (std::find(list.begin(), list.end(), text) == list.end()) list.push_back(std::move(text));
}

void append_collapsed(std::string& out, std::string_view value) {
  bool blank_before = false;
  for (char c : trimmed(value)) {
    if (is_blank(c)) {
      blank_before = true;
      continue;
    }
    if (blank_before) out.push_back(' ');
    blank_before = false;
    out.push_back(c);
  }
}

}  // namespace

std::vector<std::pair<std::string_view, std::string_view>> raw_query_pairs(
    std::string_view raw_query) {
  std::vector<std::pair<std::string_view, std::string_view>> out;
  while (!raw_query.empty()) {
    const std::string_view component = raw_query.substr(0, raw_query.find('&'));
    raw_query.remove_prefix(std::min(component.size() + 1, raw_query.size()));
    if (component.empty()) continue;
    const size_t equals = component.find('=');
    if (equals == std::string_view::npos) {
      out.emplace_back(component, std::string_view());
    } else {
      out.emplace_back(component.substr(0, equals), component.substr(equals + 1));
    }
  }
  return out;
}

std::string decoded(std::string_view text) {
  if (auto whole = percent_decode(text)) return std::move(*whole);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    bool escaped = false;
    out.push_back(byte_at(text, i, escaped));
  }
  return out;
}

bool is_parameter(std::string_view raw_name, std::string_view name) {
  if (raw_name.find('%') == std::string_view::npos) {
    return equal_ignoring_case(raw_name, name);
  }
  return equal_ignoring_case(decoded(raw_name), name);
}

std::optional<std::string> query_value(std::string_view raw_query, std::string_view name) {
  for (const auto& [raw_name, value] : raw_query_pairs(raw_query)) {
    if (is_parameter(raw_name, name)) return decoded(value);
  }
  return std::nullopt;
}

std::vector<std::string> canonical_paths(std::string_view raw_path) {
  if (raw_path.empty()) raw_path = "/";
  std::vector<std::string> out{recoded_path(raw_path, true)};
  add_once(out, std::string(raw_path));
  if (raw_path.find('%') != std::string_view::npos) {
    add_once(out, recoded_path(raw_path, false));
  }
  return out;
}

std::vector<std::string> canonical_queries(std::string_view raw_query, std::string_view without) {
  std::vector<std::string> out;
  for (const bool plus_is_space : {false, true}) {
    if (plus_is_space && raw_query.find('+') == std::string_view::npos) break;
    for (const auto repeated : {RepeatedNames::kByValue, RepeatedNames::kAsSent}) {
      add_once(out, canonical_query(raw_query, without, plus_is_space, repeated));
    }
  }
  return out;
}

std::optional<std::string> canonical_header(const http::Headers& headers, std::string_view name) {
  std::optional<std::string> out;
  for (const auto& [field, value] : headers.all()) {
    if (!equal_ignoring_case(field, name)) continue;
    if (out) {
      out->push_back(',');
    } else {
      out.emplace();
    }
    append_collapsed(*out, value);
  }
  return out;
}

std::string canonical_head(std::string_view method, std::string_view path, std::string_view query,
                           std::string_view header_lines, std::string_view signed_headers) {
  return str_cat(method, '\n', path, '\n', query, '\n', header_lines, '\n', signed_headers, '\n');
}

std::string string_to_sign(std::string_view timestamp, std::string_view scope,
                           std::string_view canonical_request) {
  return str_cat(kAlgorithm, '\n', timestamp, '\n', scope, '\n', to_hex(sha256(canonical_request)));
}

std::string signature_of(std::string_view key, std::string_view text) {
  return to_hex(hmac_sha256(key, text));
}

bool same_signature(std::string_view a, std::string_view b) {
  const auto left = from_hex(a);
  const auto right = from_hex(b);
  return left && right && constant_time_equal(*left, *right);
}

}  // namespace tarn::sigv4
