#include "core/model/event.h"

#include <algorithm>

#include "core/base/glob.h"

namespace tarn {

bool is_event_type(std::string_view text) {
  return std::find(kEventTypes.begin(), kEventTypes.end(), text) != kEventTypes.end();
}

bool is_event_pattern(std::string_view text) {
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyz._*";
  if (text.empty() || text.size() > kEventPatternBytesMax ||
      text.find_first_not_of(kCharacters) != std::string_view::npos) {
    return false;
  }
  const Glob glob(text);
  return std::any_of(kEventTypes.begin(), kEventTypes.end(),
                     [&](std::string_view type) { return glob.matches(type); });
}

}  // namespace tarn
