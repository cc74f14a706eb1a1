// Range headers: the first byte chooses the object's size, the rest is the header.
#include <cstdint>
#include <string_view>
#include <variant>

#include "s3gateway/wire/range.h"
#include "tests/fuzz/require.h"

namespace s3 = tarn::s3;

namespace {

bool is_inside(const tarn::blob::ByteRange& range, uint64_t size) {
  return range.length > 0 && range.offset < size && range.length <= size - range.offset;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view header(reinterpret_cast<const char*>(data) + 1, size - 1);
  const uint64_t bytes = data[0] == 255 ? UINT64_MAX : data[0];
  const s3::RangeOutcome outcome = s3::select_range(header, bytes);
  if (const auto* range = std::get_if<tarn::blob::ByteRange>(&outcome)) {
    require(is_inside(*range, bytes), "a range lies in its object");
  }
  if (std::holds_alternative<s3::WholeObject>(s3::select_range(header, 1 << 20))) {
    require(std::holds_alternative<s3::WholeObject>(outcome), "what is no range is none for any");
  }
  if (const auto copy = s3::parse_copy_range(header)) {
    require(copy->length > 0 && copy->offset + (copy->length - 1) >= copy->offset,
            "a copied range has an end");
  }
  return 0;
}
