// Durations as users type them.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace tarn::cli {

/// "90s", "30m", "2h", or a bare number of seconds. Throws a usage error.
std::chrono::milliseconds parse_duration(const std::string& text);
/// The same as parse_duration; nullopt for "": no limit.
std::optional<std::chrono::milliseconds> parse_timeout(const std::string& text);

}  // namespace tarn::cli
