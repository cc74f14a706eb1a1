#include "core/blob/xml_scanner.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "core/base/error.h"
#include "core/base/str_cat.h"

namespace tarn::blob {
namespace {

constexpr size_t kDepthMax = 8;
constexpr std::string_view kBlanks = " \t\r\n";

void append_utf8(std::string& out, uint32_t code) {
  if (code < 0x80) {
    out.push_back(static_cast<char>(code));
  } else if (code < 0x800) {
    out.push_back(static_cast<char>(0xc0 | (code >> 6)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else if (code < 0x10000) {
    out.push_back(static_cast<char>(0xe0 | (code >> 12)));
    out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
  } else {
    out.push_back(static_cast<char>(0xf0 | (code >> 18)));
    out.push_back(static_cast<char>(0x80 | ((code >> 12) & 0x3f)));
    out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3f)));
    out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
  }
}

std::string_view without_prefix(std::string_view name) {
  const size_t colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

}  // namespace

void XmlScanner::fail(std::string_view why) const {
  throw Error(ErrorCode::kUnavailable,
              str_cat("reading the store's XML answer: ", why, " at byte ", at_));
}

std::string_view XmlScanner::take_until(std::string_view end, std::string_view what) {
  const size_t found = document_.find(end, at_);
  if (found == std::string_view::npos) fail(str_cat(what, " is not closed"));
  const std::string_view taken = document_.substr(at_, found - at_);
  at_ = found + end.size();
  return taken;
}

XmlScanner::Event XmlScanner::next() {
  if (leaving_) {
    path_.pop_back();
    leaving_ = false;
  }
  text_.clear();
  if (self_closed_) {
    self_closed_ = false;
    leaving_ = true;
    return Event::kEnd;
  }
  while (true) {
    take_text();
    if (at_ == document_.size()) {
      if (!path_.empty()) fail("an element is not closed");
      return Event::kDone;
    }
    const std::string_view rest = document_.substr(at_);
    if (rest.starts_with("<!--")) {
      take_until("-->", "a comment");
    } else if (rest.starts_with("<?")) {
      take_until("?>", "a declaration");
    } else if (rest.starts_with("<![CDATA[")) {
      at_ += 9;
      text_.append(take_until("]]>", "a CDATA section"));
    } else if (rest.starts_with("<!")) {
      fail("a document type is refused");
    } else {
      ++at_;
      return take_tag(take_until(">", "a tag"));
    }
  }
}

void XmlScanner::take_text() {
  const size_t end = std::min(document_.find('<', at_), document_.size());
  append_decoded(document_.substr(at_, end - at_));
  at_ = end;
}

void XmlScanner::append_decoded(std::string_view raw) {
  while (true) {
    const size_t ampersand = raw.find('&');
    text_.append(raw.substr(0, ampersand));
    if (ampersand == std::string_view::npos) return;
    const size_t semicolon = raw.find(';', ampersand);
    if (semicolon == std::string_view::npos) fail("an entity is not closed");
    append_entity(raw.substr(ampersand + 1, semicolon - ampersand - 1));
    raw.remove_prefix(semicolon + 1);
  }
}

void XmlScanner::append_entity(std::string_view name) {
  struct Named {
    std::string_view name;
    char character;
  };
  constexpr Named kNamed[] = {
      {"amp", '&'}, {"lt", '<'}, {"gt", '>'}, {"quot", '"'}, {"apos", '\''}};
  for (const Named& one : kNamed) {
    if (one.name == name) return text_.push_back(one.character);
  }
  const bool hex = name.starts_with("#x") || name.starts_with("#X");
  const std::string_view digits = name.substr(name.starts_with('#') ? (hex ? 2 : 1) : name.size());
  uint32_t code = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), code, hex ? 16 : 10);
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size() ||
      code > 0x10ffff || is_surrogate) {
    fail("an unknown entity");
  }
  append_utf8(text_, code);
}

XmlScanner::Event XmlScanner::take_tag(std::string_view tag) {
  if (tag.starts_with('/')) {
    tag.remove_prefix(1);
    const std::string_view name = without_prefix(tag.substr(0, tag.find_first_of(kBlanks)));
    if (path_.empty() || path_.back() != name) fail("an end without its start");
    leaving_ = true;
    return Event::kEnd;
  }
  self_closed_ = tag.ends_with('/');
  if (self_closed_) tag.remove_suffix(1);
  const std::string_view name = without_prefix(tag.substr(0, tag.find_first_of(kBlanks)));
  if (name.empty()) fail("a tag without a name");
  if (path_.size() == kDepthMax) fail("elements are nested too deep");
  path_.push_back(name);
  return Event::kStart;
}

}  // namespace tarn::blob
