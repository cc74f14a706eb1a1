#include "core/backup/object_list.h"

#include <charconv>
#include <system_error>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "core/model/address.h"

namespace tarn::backup {
namespace {

constexpr size_t kLineBytesMax = 200;

[[noreturn]] void malformed() {
  throw Error(ErrorCode::kDataLoss, "reading objects.txt of a backup: a line is malformed");
}

template <typename Number>
Number number_from(std::string_view text) {
  Number out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) malformed();
  return out;
}

bool is_record(std::string_view path) {
  if (path == kRepositoryRecord) return true;
  if (!path.starts_with(kRefsFolder)) return false;
  path.remove_prefix(kRefsFolder.size());
  return !path.empty() && path.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

ObjectLine parse_line(std::string_view line) {
  const size_t first = line.find(' ');
  const size_t second = line.find(' ', first == std::string_view::npos ? first : first + 1);
  if (second == std::string_view::npos) malformed();
  ObjectLine out{.repository = number_from<int64_t>(line.substr(0, first)),
                 .path = std::string(line.substr(first + 1, second - first - 1)),
                 .size_bytes = number_from<uint64_t>(line.substr(second + 1))};
  // It becomes a path in a store.
  if (!is_object(out) && !is_record(out.path)) malformed();
  return out;
}

}  // namespace

bool is_object(const ObjectLine& line) { return parse_relative_path(line.path).has_value(); }

std::string to_line(const ObjectLine& object) {
  return str_cat(object.repository, " ", object.path, " ", object.size_bytes, "\n");
}

void LineReader::read(std::string_view piece) {
  for (size_t end = 0; (end = piece.find('\n')) != std::string_view::npos;) {
    rest_ += piece.substr(0, end);
    visit_(parse_line(rest_));
    rest_.clear();
    piece.remove_prefix(end + 1);
  }
  rest_ += piece;
  if (rest_.size() > kLineBytesMax) malformed();
}

void LineReader::finish() const {
  if (!rest_.empty()) malformed();
}

}  // namespace tarn::backup
