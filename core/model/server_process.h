// A server process over the database, as it announced itself.
#pragma once

#include <string>

#include "core/base/time.h"

namespace tarn {

struct ServerProcess {
  std::string id;  ///< random, one for each process; hexadecimal
  std::string version{};
  std::string host{};
  std::string listen{};  ///< its addresses, to be read by people
  Instant started{};
  Instant seen{};      ///< the last announcement, by the database's clock
  bool alive = false;  ///< seen recently
};

}  // namespace tarn
