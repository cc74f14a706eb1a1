// The Range header against the size of an object.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "core/blob/blob_store.h"

namespace tarn::s3 {

struct WholeObject {};
/// The range contains no byte of the object: 416.
struct UnsatisfiableRange {};
using RangeOutcome = std::variant<WholeObject, blob::ByteRange, UnsatisfiableRange>;

/// `header` is the value of Range, "" if absent. Supports one `bytes=` range and clamps its end;
/// several ranges, other units and invalid values mean the whole object. Source: RFC 9110 section
/// 14.
RangeOutcome select_range(std::string_view header, uint64_t size_bytes);

/// Parses x-amz-copy-source-range: only `bytes=first-last`. nullopt if malformed. A range outside
/// the source is returned unchanged; the caller checks it.
std::optional<blob::ByteRange> parse_copy_range(std::string_view header);

/// Decimal digits only; nullopt for anything else and for overflow.
std::optional<uint64_t> parse_decimal(std::string_view text);

}  // namespace tarn::s3
