// Times by layouts that show how the moment 2006-01-02 15:04:05 would be written, as scripts of
// lakeFS have them. UTC only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tarn::actions::lua {

std::string format_time(int64_t epoch_ns, std::string_view layout);
/// nullopt if the text does not match the layout.
std::optional<int64_t> parse_time(std::string_view layout, std::string_view text);

}  // namespace tarn::actions::lua
