#include "core/blob/checks.h"

#include "core/base/error.h"
#include "core/base/reasons.h"
#include "core/base/str_cat.h"
#include "core/base/text.h"

namespace tarn::blob {
namespace {

constexpr size_t kShownBytesMax = 300;

}  // namespace

std::string shown(std::string_view key) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : key.substr(0, kShownBytesMax)) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_control(c)) {
      out += str_cat("\\x", kDigits[byte >> 4], kDigits[byte & 15]);
    } else {
      out.push_back(c);
    }
  }
  out += key.size() > kShownBytesMax ? "...\"" : "\"";
  return out;
}

void check_key(std::string_view key) {
  if (key.empty()) throw_invalid("object key: is empty");
  if (key.find('\0') != std::string_view::npos) {
    throw_invalid(str_cat("object key ", shown(key), ": holds a NUL byte"));
  }
}

void check_range(std::string_view key, ByteRange range, uint64_t size_bytes) {
  if (range.offset <= size_bytes && range.length <= size_bytes - range.offset) return;
  throw_corrupt(
      key, str_cat("it has ", size_bytes, " bytes, not ", range.length, " from ", range.offset));
}

void check_list_limit(uint32_t limit) {
  if (limit >= 1 && limit <= kListItemsMax) return;
  throw_invalid(str_cat("listing objects: limit ", limit, " is not between 1 and ", kListItemsMax));
}

void throw_corrupt(std::string_view key, std::string_view why) {
  throw Error(ErrorCode::kDataLoss, reason::kObjectCorrupt,
              str_cat("reading object ", shown(key), ": ", why));
}

void throw_source_changed(std::string_view key, std::string_view why) {
  throw Error(ErrorCode::kGone, reason::kSourceChanged,
              str_cat("reading object ", shown(key), ": ", why));
}

}  // namespace tarn::blob
