#include "core/xml/reader.h"

#include <algorithm>

#include "core/base/encoding.h"
#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr uint32_t kCodePointMax = 0x10FFFF;
constexpr size_t kReferenceCharsMax = 10;  // "&#1114111;"

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_name_char(char c) {
  return is_word(c) || c == '-' || c == '.' || c == ':' || static_cast<unsigned char>(c) >= 0x80;
}

/// The code point of "#65" or "#x41"; 0 = invalid.
uint32_t code_point(std::string_view text) {
  const bool hex = text.starts_with("#x");
  text.remove_prefix(hex ? 2 : 1);
  if (text.empty()) return 0;
  uint32_t value = 0;
  for (char c : text) {
    uint32_t digit = 16;
    if (c >= '0' && c <= '9') digit = static_cast<uint32_t>(c - '0');
    if (hex && c >= 'a' && c <= 'f') digit = static_cast<uint32_t>(c - 'a' + 10);
    if (hex && c >= 'A' && c <= 'F') digit = static_cast<uint32_t>(c - 'A' + 10);
    if (digit == 16) return 0;
    value = value * (hex ? 16 : 10) + digit;
    if (value > kCodePointMax) return 0;
  }
  return value >= 0xD800 && value <= 0xDFFF ? 0 : value;
}

}  // namespace

XmlReader::XmlReader(std::string_view document, Fail on_error)
    : document_(document), fail_(on_error) {
  if (!is_utf8(document)) fail("is not UTF-8");
  if (at(kByteOrderMark)) at_ += kByteOrderMark.size();
}

void XmlReader::fail(std::string_view why) const {
  fail_(str_cat("at byte ", at_, " it ", why));
  check_failed("fail_ throws", __FILE__, __LINE__);
}

void XmlReader::expect(std::string_view token) {
  if (!at(token)) fail(str_cat("lacks \"", token, "\""));
  at_ += token.size();
}

void XmlReader::skip_blanks() {
  while (at_ < document_.size() && is_blank(document_[at_])) ++at_;
}

/// Skips one comment or processing instruction; false if there is none here.
bool XmlReader::skip_misc() {
  if (at("<!DOCTYPE")) fail("has a DOCTYPE, which is refused");
  const bool comment = at("<!--");
  if (!comment && !at("<?")) return false;
  const std::string_view closing = comment ? "-->" : "?>";
  const size_t end = document_.find(closing, at_ + 2);
  if (end == std::string_view::npos) fail("ends inside a comment or instruction");
  at_ = end + closing.size();
  return true;
}

std::string_view XmlReader::name() {
  const size_t start = at_;
  while (at_ < document_.size() && is_name_char(document_[at_])) ++at_;
  if (at_ == start) fail("lacks a name");
  return document_.substr(start, at_ - start);
}

void XmlReader::attribute() {
  name();
  skip_blanks();
  expect("=");
  skip_blanks();
  if (!at("\"") && !at("'")) fail("has an attribute without quotes");
  const size_t end = document_.find(document_[at_], at_ + 1);
  if (end == std::string_view::npos) fail("ends inside an attribute");
  at_ = end + 1;
}

std::string_view XmlReader::start_tag() {
  expect("<");
  const std::string_view full = name();
  if (depth_ == kDepthMax) fail("is nested too deeply");
  open_[depth_++] = full;
  skip_blanks();
  while (at_ < document_.size() && is_name_char(document_[at_])) {
    attribute();
    skip_blanks();
  }
  self_closed_ = at("/>");
  expect(self_closed_ ? "/>" : ">");
  const size_t colon = full.find(':');
  return colon == std::string_view::npos ? full : full.substr(colon + 1);
}

void XmlReader::end_tag() {
  if (self_closed_) {
    self_closed_ = false;
  } else {
    expect("</");
    if (name() != open_[depth_ - 1]) fail("closes an element that is not open");
    skip_blanks();
    expect(">");
  }
  --depth_;
}

void XmlReader::enter_root(std::string_view expected) {
  do {
    skip_blanks();
  } while (skip_misc());
  if (start_tag() != expected) fail(str_cat("has a root element other than ", expected));
}

std::optional<std::string_view> XmlReader::next_child() {
  if (!self_closed_) {
    do {
      skip_blanks();
    } while (skip_misc());
    if (!at("<")) fail("has text where elements belong");
    if (!at("</")) return start_tag();
  }
  end_tag();
  return std::nullopt;
}

void XmlReader::append_reference(std::string& out) {
  const size_t end = document_.find(';', at_);
  if (end == std::string_view::npos || end - at_ > kReferenceCharsMax)
    fail("has an open reference");
  const std::string_view entity = document_.substr(at_ + 1, end - at_ - 1);
  if (entity.starts_with('#')) {
    const uint32_t code = code_point(entity);
    if (code == 0) fail("has a reference to no character");
    append_utf8(out, code);
  } else if (entity == "amp") {
    out.push_back('&');
  } else if (entity == "lt") {
    out.push_back('<');
  } else if (entity == "gt") {
    out.push_back('>');
  } else if (entity == "quot") {
    out.push_back('"');
  } else if (entity == "apos") {
    out.push_back('\'');
  } else {
    fail("uses an unknown entity");
  }
  at_ = end + 1;
}

/// Appends one run of characters, a reference or a CDATA section, or skips a comment; false at a
/// tag.
bool XmlReader::append_piece(std::string& out) {
  constexpr std::string_view kCdata = "<![CDATA[";
  constexpr std::string_view kCdataEnd = "]]>";
  if (at_ >= document_.size()) fail("ends inside an element");
  if (at(kCdata)) {
    const size_t end = document_.find(kCdataEnd, at_);
    if (end == std::string_view::npos) fail("ends inside a CDATA section");
    out.append(document_.substr(at_ + kCdata.size(), end - at_ - kCdata.size()));
    at_ = end + kCdataEnd.size();
  } else if (document_[at_] == '<') {
    return skip_misc();
  } else if (document_[at_] == '&') {
    append_reference(out);
  } else {
    const size_t end = std::min(document_.find_first_of("<&", at_), document_.size());
    out.append(document_.substr(at_, end - at_));
    at_ = end;
  }
  return true;
}

std::string XmlReader::text() {
  std::string out;
  while (!self_closed_ && !at("</")) {
    if (!append_piece(out)) fail("has an element where text belongs");
  }
  end_tag();
  return out;
}

void XmlReader::skip() {
  const uint32_t outside = depth_ - 1;
  std::string ignored;
  while (depth_ > outside) {
    ignored.clear();
    if (self_closed_ || at("</")) {
      end_tag();
    } else if (!append_piece(ignored)) {
      start_tag();
    }
  }
}

void XmlReader::finish() {
  if (depth_ != 0) fail("is not closed");
  do {
    skip_blanks();
  } while (skip_misc());
  if (at_ != document_.size()) fail("goes on after its root element");
}

}  // namespace tarn
