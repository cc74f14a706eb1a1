#include "core/search/sort_order.h"

#include <bit>

namespace tarn::search {
namespace {

constexpr uint64_t kSignBit = uint64_t{1} << 63;

/// Maps numbers to integers in the same order; no NaN.
uint64_t ordered(double number) {
  if (number == 0) number = 0;  // negative and positive zero are equal
  const auto bits = std::bit_cast<uint64_t>(number);
  return (bits & kSignBit) != 0 ? ~bits : bits | kSignBit;
}
uint64_t ordered(int64_t number) { return static_cast<uint64_t>(number) ^ kSignBit; }

}  // namespace

SortOrder::Rank SortOrder::rank_of(const Subject& subject) const {
  uint64_t value = 0;
  switch (field.kind) {
    case Field::Kind::kPath:
    case Field::Kind::kType:
      return {};
    case Field::Kind::kSize:
      value = subject.entry().size_bytes;
      break;
    case Field::Kind::kModified:
      value = ordered(to_millis(subject.entry().mtime));
      break;
    case Field::Kind::kMetadata:
    case Field::Kind::kTag: {
      const auto number = subject.number(field);
      if (!number) return {.missing = true};
      value = ordered(*number);
      break;
    }
  }
  return {.missing = false, .value = descending ? ~value : value};
}

std::optional<SortOrder> parse_sort_order(std::string_view text) {
  SortOrder out;
  const size_t blank = text.rfind(' ');
  if (blank != std::string_view::npos) {
    const std::string_view direction = text.substr(blank + 1);
    if (direction == "asc" || direction == "desc") {
      out.descending = direction == "desc";
      text = text.substr(0, blank);
    }
  }
  auto field = parse_field(text);
  if (!field || field->kind == Field::Kind::kType) return std::nullopt;
  out.field = *std::move(field);
  return out;
}

}  // namespace tarn::search
