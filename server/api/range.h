// The Range header of object reads.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>

#include "core/blob/blob_store.h"

namespace tarn::api {

struct WholeObject {};
/// A range that starts behind the end: 416 with the size, which readers take as end of file.
struct BehindEnd {};
/// Reversed, several ranges, or no range at all: 416 without the size.
struct MalformedRange {};
using RequestedRange = std::variant<WholeObject, blob::ByteRange, BehindEnd, MalformedRange>;

/// One `bytes=` range over an object of `size_bytes`; ends are clamped, a suffix longer than the
/// object is all of it.
/// "" is the whole object.
RequestedRange parse_range(std::string_view header, uint64_t size_bytes);

}  // namespace tarn::api
