// What one port serves besides S3 and REST: health, metrics, the web page.
#pragma once

#include <functional>
#include <string_view>

#include "core/http/message.h"

namespace tarn::server {

/// Whether the path is the REST API's.
bool is_rest(const http::Request& request);

/// Answers what belongs to neither API.
class Plain {
 public:
  /// `ready` says whether requests could be served now; safe from any thread.
  explicit Plain(std::function<bool()> ready) : ready_(std::move(ready)) {}
  http::Response handle(const http::Request& request) const;

 private:
  http::Response answer(const http::Request& request) const;
  http::Response health(std::string_view path) const;

  std::function<bool()> ready_;
};

}  // namespace tarn::server
