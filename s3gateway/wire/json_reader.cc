#include "s3gateway/wire/json_reader.h"

#include <algorithm>
#include <charconv>

#include "core/base/encoding.h"
#include "core/base/str_cat.h"
#include "s3gateway/wire/errors.h"
#include "s3gateway/wire/range.h"

namespace tarn::s3 {
namespace {

bool is_surrogate(uint32_t code) { return code >= 0xd800 && code < 0xe000; }

}  // namespace

JsonReader::JsonReader(std::string_view text) : text_(text) {
  if (!is_utf8(text)) fail("is no UTF-8");
}

void JsonReader::fail(std::string_view why) const {
  throw Refusal(failure::kInvalidPolicyDocument,
                str_cat("Invalid Policy: the document ", why, ", at byte ", at_, "."));
}

void JsonReader::skip_blanks() {
  while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string::npos) {
    ++at_;
  }
}

char JsonReader::peek() {
  skip_blanks();
  if (at_ == text_.size()) fail("ends too early");
  return text_[at_];
}

void JsonReader::expect(char c) {
  if (peek() != c) fail(str_cat("lacks a '", c, "'"));
  ++at_;
}

void JsonReader::enter(char open) {
  expect(open);
  if (depth_ == kDepthMax) fail("is nested too deeply");
  open_[depth_++] = {open == '{' ? '}' : ']', true};
}

bool JsonReader::next() {
  Container& container = open_[depth_ - 1];
  if (peek() == container.close) {
    ++at_;
    --depth_;
    return false;
  }
  if (!container.first) expect(',');
  container.first = false;
  return true;
}

std::string JsonReader::name() {
  std::string out = string();
  expect(':');
  return out;
}

uint32_t JsonReader::hex4() {
  uint32_t code = 0;
  const char* const begin = text_.data() + at_;
  const char* const end = begin + std::min<size_t>(4, text_.size() - at_);
  const auto [stop, error] = std::from_chars(begin, end, code, 16);
  if (error != std::errc() || stop != begin + 4) fail("has a broken \\u escape");
  at_ += 4;
  return code;
}

void JsonReader::append_escape(std::string& out) {
  // "\$" and "\v" are no JSON, but S3's description of policies has them.
  constexpr std::string_view kNames = "\"\\/$bfnrtv";
  constexpr std::string_view kMeanings = "\"\\/$\b\f\n\r\t\v";
  if (at_ == text_.size()) fail("ends inside a string");
  const char c = text_[at_++];
  if (const size_t index = kNames.find(c); index != std::string_view::npos) {
    out.push_back(kMeanings[index]);
    return;
  }
  if (c != 'u') fail("has an unknown escape");
  uint32_t code = hex4();
  if (is_surrogate(code)) {
    if (code >= 0xdc00 || text_.substr(at_, 2) != "\\u") fail("has half a surrogate pair");
    at_ += 2;
    const uint32_t low = hex4();
    if (low < 0xdc00 || !is_surrogate(low)) fail("has half a surrogate pair");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  append_utf8(out, code);
}

std::string JsonReader::string() {
  if (peek() != '"') fail("lacks a string");
  ++at_;
  std::string out;
  for (;;) {
    if (at_ == text_.size()) fail("ends inside a string");
    const char c = text_[at_++];
    if (c == '"') return out;
    if (static_cast<unsigned char>(c) < 0x20) fail("has a control character in a string");
    if (c == '\\') {
      append_escape(out);
    } else {
      out.push_back(c);
    }
  }
}

uint64_t JsonReader::number() {
  std::string quoted;
  std::string_view digits;
  if (peek() == '"') {
    quoted = string();
    digits = quoted;
  } else {
    const size_t end = std::min(text_.find_first_not_of("0123456789", at_), text_.size());
    digits = text_.substr(at_, end - at_);
    at_ = end;
  }
  const auto value = parse_decimal(digits);
  if (!value) fail("lacks a whole number");
  return *value;
}

void JsonReader::finish() {
  skip_blanks();
  if (at_ != text_.size()) fail("goes on after its end");
}

}  // namespace tarn::s3
