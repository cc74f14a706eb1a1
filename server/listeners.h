// The addresses of the server, taken before anything else is started.
#pragma once

#include <optional>

#include "core/http/bound_address.h"
#include "server/config.h"

namespace tarn::server {

struct Listeners {
  http::BoundAddress main;
  std::optional<http::BoundAddress> s3{};
  std::optional<http::BoundAddress> metrics{};
};

/// Sockets of the service manager called "s3" and "metrics", one with any other name as the main
/// one, and the configured addresses for which none was passed. Connections to the latter are
/// refused until they are served. Throws unavailable, naming the address, and invalid_argument for
/// a socket that cannot be used.
Listeners open_listeners(const Config& config);

}  // namespace tarn::server
