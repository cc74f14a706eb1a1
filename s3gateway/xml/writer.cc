#include "s3gateway/xml/writer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/text.h"
#include "s3gateway/wire/checksums.h"

namespace tarn::s3::xml {
namespace {

constexpr std::string_view kDeclaration = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
constexpr std::string_view kNamespace = " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";

}  // namespace

Writer::Writer(std::string_view root, Root kind, size_t expected_bytes) : root_(root) {
  out_.reserve(expected_bytes);
  out_.append(kDeclaration).append("<").append(root);
  if (kind == Root::kS3Namespace) out_.append(kNamespace);
  out_.push_back('>');
}

void Writer::open(std::string_view name) {
  out_.push_back('<');
  out_.append(name);
  out_.push_back('>');
}

void Writer::open_with(std::string_view name, std::string_view attributes) {
  out_.push_back('<');
  out_.append(name).append(" ").append(attributes);
  out_.push_back('>');
}

void Writer::close(std::string_view name) {
  out_.append("</").append(name);
  out_.push_back('>');
}

void Writer::number(uint64_t number) {
  std::array<char, 20> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out_.append(digits.data(), end);
}

void Writer::time(Instant time) {
  constexpr size_t kMillisAt = 20;  // in "2026-11-20T08:15:42.605Z"
  if (time_s_ != to_seconds(time) || time_text_.empty()) {
    time_s_ = to_seconds(time);
    time_text_ = to_rfc3339(time);
  }
  const auto millis = static_cast<int>(to_millis(time) - time_s_ * 1000);
  time_text_[kMillisAt] = static_cast<char>('0' + millis / 100);
  time_text_[kMillisAt + 1] = static_cast<char>('0' + millis / 10 % 10);
  time_text_[kMillisAt + 2] = static_cast<char>('0' + millis % 10);
  out_.append(time_text_);
}

void Writer::element(std::string_view name, std::string_view text) {
  open(name);
  append_escaped(out_, text);
  close(name);
}

void Writer::element(std::string_view name, uint64_t number) {
  open(name);
  this->number(number);
  close(name);
}

void Writer::element(std::string_view name, bool value) {
  open(name);
  out_.append(value ? "true" : "false");
  close(name);
}

void Writer::element(std::string_view name, Instant time) {
  open(name);
  this->time(time);
  close(name);
}

void Writer::etag(std::string_view unquoted) {
  if (has_control(unquoted)) {
    std::string shown(unquoted);
    std::replace_if(shown.begin(), shown.end(), is_control, '_');
    return etag(shown);
  }
  out_.append("<ETag>&quot;");
  append_escaped(out_, unquoted);
  out_.append("&quot;</ETag>");
}

std::string Writer::finish() {
  close(root_);
  return std::move(out_);
}

void write_checksums(Writer& out, const std::vector<Checksum>& checksums, bool with_type) {
  for (const Checksum& checksum : checksums) {
    out.element(element_of(checksum.algorithm), text_of(checksum));
  }
  if (with_type && !checksums.empty()) out.element("ChecksumType", type_of(checksums.front()));
}

}  // namespace tarn::s3::xml
