#include "core/http/form_data.h"

#include <algorithm>
#include <cstring>

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/text.h"

namespace tarn::http {
namespace {

constexpr size_t kReadBytes = 64 * 1024;
constexpr size_t kBoundaryCharsMax = 70;  // RFC 2046 section 5.1.1

[[noreturn]] void fail(std::string_view why) {
  throw Error(ErrorCode::kInvalidArgument, reason::kMalformedForm,
              "reading the multipart form: " + std::string(why));
}

/// Reads a quoted string or a token from the start of `rest`.
std::string take_value(std::string_view& rest) {
  std::string out;
  if (!rest.starts_with('"')) {
    const size_t end = std::min(rest.find(';'), rest.size());
    out = trimmed(rest.substr(0, end));
    rest.remove_prefix(end);
    return out;
  }
  rest.remove_prefix(1);
  while (!rest.empty() && rest[0] != '"') {
    if (rest[0] == '\\' && rest.size() > 1) rest.remove_prefix(1);
    out.push_back(rest[0]);
    rest.remove_prefix(1);
  }
  rest.remove_prefix(std::min<size_t>(1, rest.size()));
  return out;
}

FormPart part_of(std::string_view head) {
  FormPart part;
  while (!head.empty()) {
    const size_t end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(std::min(end + 2, head.size()));
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) fail("a part has a header line without a colon");
    const std::string_view name = trimmed(line.substr(0, colon));
    const std::string_view value = trimmed(line.substr(colon + 1));
    if (equal_ignoring_case(name, "Content-Disposition")) {
      part.name = header_parameter(value, "name").value_or("");
      part.file_name = header_parameter(value, "filename");
    } else if (equal_ignoring_case(name, "Content-Type")) {
      part.content_type = value;
    }
  }
  return part;
}

}  // namespace

std::optional<std::string> header_parameter(std::string_view value, std::string_view name) {
  std::string_view rest = value;
  rest.remove_prefix(std::min(rest.find(';'), rest.size()));
  while (rest.starts_with(';')) {
    rest.remove_prefix(1);
    const size_t equals = rest.find('=');
    const size_t semicolon = std::min(rest.find(';'), rest.size());
    if (equals == std::string_view::npos) return std::nullopt;
    if (semicolon < equals) {  // an attribute without a value
      rest.remove_prefix(semicolon);
      continue;
    }
    const std::string_view found = trimmed(rest.substr(0, equals));
    rest = trimmed(rest.substr(equals + 1));
    std::string text = take_value(rest);
    if (equal_ignoring_case(found, name)) return text;
    rest.remove_prefix(std::min(rest.find(';'), rest.size()));
  }
  return std::nullopt;
}

std::optional<std::string> form_boundary(std::string_view content_type) {
  constexpr std::string_view kType = "multipart/form-data";
  const std::string_view type = trimmed(content_type.substr(0, content_type.find(';')));
  if (!equal_ignoring_case(type, kType)) return std::nullopt;
  const std::string boundary = header_parameter(content_type, "boundary").value_or("");
  if (boundary.empty() || boundary.size() > kBoundaryCharsMax)
    fail("the Content-Type has no legal boundary");
  return boundary;
}

FormDataReader::FormDataReader(BodySource& source, std::string_view boundary)
    // The initial line break makes the first boundary look like the others.
    : source_(source), delimiter_("\r\n--" + std::string(boundary)), buffer_("\r\n") {}

bool FormDataReader::fill() {
  buffer_.erase(0, begin_);
  begin_ = 0;
  const size_t held = buffer_.size();
  buffer_.resize(held + kReadBytes);
  const size_t got = source_.read(std::span(buffer_.data() + held, kReadBytes));
  buffer_.resize(held + got);
  return got > 0;
}

size_t FormDataReader::data_ready() {
  for (;;) {
    const std::string_view unread = std::string_view(buffer_).substr(begin_);
    const size_t found = unread.find(delimiter_);
    if (found != std::string_view::npos) return found;
    // The last bytes may be the start of a delimiter.
    if (unread.size() >= delimiter_.size()) return unread.size() - delimiter_.size() + 1;
    if (!fill()) fail("it ends before its last boundary");
  }
}

size_t FormDataReader::read(std::span<char> out) {
  if (!in_part_ || out.empty()) return 0;
  const size_t count = std::min(data_ready(), out.size());
  std::memcpy(out.data(), buffer_.data() + begin_, count);
  begin_ += count;
  return count;
}

void FormDataReader::skip_part() {
  // Before the first part this skips the preamble, whose size is limited; skipped parts may have
  // any size.
  size_t skipped = 0;
  while (const size_t count = data_ready()) {
    begin_ += count;
    skipped += count;
    if (!in_part_ && skipped > kPreambleBytesMax) fail("it has no boundary near its beginning");
  }
  begin_ += delimiter_.size();
}

std::string FormDataReader::read_head() {
  constexpr std::string_view kEnd = "\r\n\r\n";
  for (;;) {
    const std::string_view unread = std::string_view(buffer_).substr(begin_);
    const size_t end = unread.find(kEnd);
    if (std::min(end, unread.size()) > kPartHeadBytesMax) fail("a part's head is too long");
    if (end != std::string_view::npos) {
      std::string head(unread.substr(0, end));
      begin_ += end + kEnd.size();
      return head;
    }
    if (!fill()) fail("it ends inside a part's head");
  }
}

std::optional<FormPart> FormDataReader::next_part() {
  if (done_) return std::nullopt;
  skip_part();
  while (buffer_.size() - begin_ < 2) {
    if (!fill()) fail("it ends at a boundary");
  }
  if (std::string_view(buffer_).substr(begin_, 2) == "--") {
    done_ = true;
    in_part_ = false;
    return std::nullopt;
  }
  // Whitespace may follow the boundary. The line break belongs to the boundary, not to the head,
  // and a part without headers has an empty line right after it.
  while (begin_ < buffer_.size() && (buffer_[begin_] == ' ' || buffer_[begin_] == '\t')) {
    if (++begin_ == buffer_.size() && !fill()) fail("it ends at a boundary");
  }
  std::string head = read_head();
  if (head.starts_with("\r\n")) {
    head.erase(0, 2);
  } else if (!head.empty()) {
    fail("a boundary is followed by something else than a line break");
  }
  in_part_ = true;
  return part_of(head);
}

}  // namespace tarn::http
