#include "server/api/json/writer.h"

#include <array>
#include <charconv>
#include <cmath>

#include "core/base/number.h"

namespace tarn::api::json {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

/// Bytes that a string contains unescaped: printable ASCII except the quote and the backslash.
constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (size_t c = 0x20; c < 0x7f; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

/// Length of the well-formed UTF-8 sequence at the start of `bytes`, 0 if invalid. Source: Unicode
/// 15, table 3-7.
size_t utf8_length(std::string_view bytes) {
  const auto at = [&](size_t i) {
    return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u;
  };
  const auto tail = [&](size_t i) { return (at(i) & 0xc0u) == 0x80u; };
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return tail(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    const bool second =
        tail(1) && !(lead == 0xe0 && at(1) < 0xa0) && !(lead == 0xed && at(1) > 0x9f);
    return second && tail(2) ? 3 : 0;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    const bool second =
        tail(1) && !(lead == 0xf0 && at(1) < 0x90) && !(lead == 0xf4 && at(1) > 0x8f);
    return second && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

void append_escape(std::string& out, unsigned char c) {
  constexpr std::string_view kHex = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      out += "\\u00";
      out.push_back(kHex[c >> 4]);
      out.push_back(kHex[c & 15]);
  }
}

void append_quoted(std::string& out, std::string_view value) {
  out.push_back('"');
  size_t done = 0;
  size_t i = 0;
  while (i < value.size()) {
    const auto c = static_cast<unsigned char>(value[i]);
    if (kPlain[c]) {
      ++i;
      continue;
    }
    const size_t length = c < 0x80 ? 0 : utf8_length(value.substr(i));
    if (length > 0) {
      i += length;
      continue;
    }
    out.append(value.substr(done, i - done));
    if (c < 0x80) {
      append_escape(out, c);
    } else {
      out += kReplacement;
    }
    done = ++i;
  }
  out.append(value.substr(done));
  out.push_back('"');
}

}  // namespace

void Writer::open(char bracket) {
  comma();
  out_.push_back(bracket);
  needs_comma_ = false;
}

void Writer::close(char bracket) {
  out_.push_back(bracket);
  needs_comma_ = true;
}

void Writer::key(std::string_view name) {
  comma();
  out_.push_back('"');
  out_.append(name);
  out_.append("\":");
  needs_comma_ = false;
}

void Writer::text(std::string_view value) {
  comma();
  append_quoted(out_, value);
  needs_comma_ = true;
}

void Writer::number(int64_t value) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  raw(std::string_view(digits.data(), static_cast<size_t>(end - digits.data())));
}

void Writer::raw(std::string_view literal) {
  comma();
  out_.append(literal);
  needs_comma_ = true;
}

void Writer::named(std::string_view name) {
  text(name);
  out_.push_back(':');
  needs_comma_ = false;
}

void Writer::real(std::string_view name, double value) {
  key(name);
  if (std::isfinite(value)) {
    raw(to_text(value));
  } else {
    text(to_text(value));
  }
}

void Writer::texts(std::string_view name, const std::vector<std::string>& values) {
  key(name);
  begin_array();
  for (const std::string& value : values) text(value);
  end_array();
}

void Writer::text_map(const std::map<std::string, std::string>& pairs) {
  begin_object();
  for (const auto& [name, value] : pairs) {
    named(name);
    text(value);
  }
  end_object();
}

void Writer::text_map(std::string_view name, const std::map<std::string, std::string>& pairs) {
  key(name);
  text_map(pairs);
}

std::string Writer::take() && {
  out_.push_back('\n');
  return std::move(out_);
}

void write_pagination(Writer& out, bool has_more, std::string_view next_offset, size_t results) {
  out.key("pagination");
  out.begin_object();
  out.boolean("has_more", has_more);
  out.number("max_per_page", kPageItemsMax);
  out.text("next_offset", next_offset);
  out.number("results", static_cast<int64_t>(results));
  out.end_object();
}

}  // namespace tarn::api::json
