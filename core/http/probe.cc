#include "core/http/probe.h"

#include <string>

namespace tarn::http {

Probe& Probe::instance() {
  static Probe* const probe = new Probe;  // lives for ever, as the handles it holds
  return *probe;
}

Probe::Probe() {
  static constexpr std::array<std::string_view, 6> kClasses{"", "", "2xx", "3xx", "4xx", "5xx"};
  for (size_t i = 2; i < kClasses.size(); ++i) {
    answers_[i] = &metrics::counter("tarn_http_requests_total",
                                    "Requests answered, by status class", {"class", kClasses[i]});
  }
  connections_gauge_ = metrics::gauge("tarn_http_connections", "Open client connections",
                                      [this] { return static_cast<double>(connections.load()); });
  queued_gauge_ = metrics::gauge("tarn_http_queued_requests", "Requests that wait for a worker",
                                 [this] { return static_cast<double>(queued_requests.load()); });
}

}  // namespace tarn::http
