#include "server/listeners.h"

#include <map>
#include <string>
#include <utility>

#include "core/base/error.h"
#include "core/base/str_cat.h"
#include "server/service_manager.h"

namespace tarn::server {
namespace {

http::BoundAddress bind(const std::string& listen) {
  const ListenAddress address = parse_listen(listen);
  return http::BoundAddress::bind(address.host, address.port);
}

}  // namespace

Listeners open_listeners(const Config& config) {
  std::optional<http::BoundAddress> main;
  std::optional<http::BoundAddress> s3;
  std::optional<http::BoundAddress> metrics;
  for (const auto& [name, fd] : take_sockets()) {
    std::optional<http::BoundAddress>& place = name == "s3"        ? s3
                                               : name == "metrics" ? metrics
                                                                   : main;
    if (place) throw_invalid(str_cat("a second main socket was passed, called \"", name, '"'));
    place = http::BoundAddress::adopt(fd);
  }
  if (!main) main = bind(config.listen);
  if (!s3 && !config.s3_listen.empty()) s3 = bind(config.s3_listen);
  if (!metrics && !config.metrics_listen.empty()) metrics = bind(config.metrics_listen);
  return {*std::move(main), std::move(s3), std::move(metrics)};
}

}  // namespace tarn::server
