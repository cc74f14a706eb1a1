#include "core/http/probe.h"

#include <string>

namespace tarn::http {

Probe& Probe::instance() {
  static Probe* const probe = new Probe;  // never destroyed, like the handles it holds
  return *probe;
}

Probe::Probe() {
  static constexpr std::array<std::string_view, 6> kClasses{"", "", "2xx", "3xx", "4xx", "5xx"};
  for (size_t i = 2; i < kClasses.size(); ++i) {
    answers_[i] = &metrics::counter("tarn_http_requests_total",
                                    "Requests answered, by status class", {"class", kClasses[i]});
  }
  static constexpr std::array<std::string_view, 3> kReasons{"share_full", "server_full",
                                                            "waited_too_long"};
  for (size_t i = 0; i < kReasons.size(); ++i) {
    refusals_[i] = &metrics::counter("tarn_http_refusals_total",
                                     "Requests answered 503 for want of a worker, by reason",
                                     {"reason", kReasons[i]});
  }
  closed_for_room_ = &metrics::counter("tarn_http_closed_for_room_total",
                                       "Idle connections closed to make room for new ones");
  queue_wait_ = &metrics::histogram("tarn_http_queue_wait_seconds",
                                    "Time that queued requests waited for a worker");
  connections_gauge_ = metrics::gauge("tarn_http_connections", "Open client connections",
                                      [this] { return static_cast<double>(connections.load()); });
  running_gauge_ = metrics::gauge("tarn_http_running_requests", "Requests that workers serve",
                                  [this] { return static_cast<double>(running_requests.load()); });
  queued_gauge_ = metrics::gauge("tarn_http_queued_requests", "Requests that wait for a worker",
                                 [this] { return static_cast<double>(queued_requests.load()); });
  shares_gauge_ = metrics::gauge("tarn_http_active_shares",
                                 "Users and addresses among whom workers are shared out now",
                                 [this] { return static_cast<double>(active_shares.load()); });
}

}  // namespace tarn::http
