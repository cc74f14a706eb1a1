#include "core/base/time_apart.h"

#include <array>
#include <cstdlib>
#include <string_view>

#include "core/base/str_cat.h"

namespace tarn {
namespace {

struct Unit {
  std::string_view name;
  int64_t seconds;
};
constexpr std::array<Unit, 4> kUnits{{{"d", 86'400}, {"h", 3'600}, {"min", 60}, {"s", 1}}};

}  // namespace

std::string time_apart(Instant a, Instant b) {
  const int64_t seconds = std::abs(to_seconds(a) - to_seconds(b));
  for (size_t at = 0; at + 1 < kUnits.size(); ++at) {
    const Unit& unit = kUnits[at];
    const Unit& next = kUnits[at + 1];
    if (seconds < unit.seconds) continue;
    return str_cat(seconds / unit.seconds, ' ', unit.name, ' ',
                   seconds % unit.seconds / next.seconds, ' ', next.name);
  }
  return str_cat(seconds, " s");
}

}  // namespace tarn
