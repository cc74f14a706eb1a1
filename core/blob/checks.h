// Checks of arguments that every store makes first.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/blob/blob_store.h"

namespace tarn::blob {

/// `key` in quotes as it is shown in messages: control bytes as `\xNN`, cut when it is very long.
std::string shown(std::string_view key);

/// Throws invalid_argument for an empty key or one with a NUL byte.
void check_key(std::string_view key);
/// Throws data_loss (throw_corrupt) when the range reaches past `size_bytes`: callers ask for what
/// was recorded, so the object lost bytes.
void check_range(std::string_view key, ByteRange range, uint64_t size_bytes);
/// Throws invalid_argument for a limit outside 1..kListItemsMax.
void check_list_limit(uint32_t limit);
/// Throws data_loss, reason "object_corrupt".
[[noreturn]] void throw_corrupt(std::string_view key, std::string_view why);
/// Throws gone, reason "source_changed".
[[noreturn]] void throw_source_changed(std::string_view key, std::string_view why);

}  // namespace tarn::blob
