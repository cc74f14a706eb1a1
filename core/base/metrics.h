// Counters, gauges and latency histograms of the process, in Prometheus text form.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace prometheus {
class Counter;
class Histogram;
}  // namespace prometheus

namespace tarn::metrics {

/// Labels take values only from closed sets (operation, status class, query name, store): never
/// keys, repositories or users, whose number has no limit.
struct Label {
  std::string_view name;
  std::string_view value;
};

/// Safe from any thread. Handles live as long as the process.
class Counter {
 public:
  explicit Counter(prometheus::Counter& counter) : counter_(counter) {}
  void add(double amount = 1);

 private:
  prometheus::Counter& counter_;
};
class Histogram {
 public:
  explicit Histogram(prometheus::Histogram& histogram) : histogram_(histogram) {}
  void observe(double seconds);

 private:
  prometheus::Histogram& histogram_;
};

/// The same name and label always give the same object. Names end in _total, _seconds or _bytes.
Counter& counter(std::string_view name, std::string_view help, Label label = {"", ""});
/// A counter with two labels; every counter of one name has the same label names.
Counter& counter(std::string_view name, std::string_view help, Label first, Label second);
/// Buckets from 100 us to 100 s, in seconds.
Histogram& histogram(std::string_view name, std::string_view help, Label label = {"", ""});
/// Read at every scrape; `read` must be safe from any thread and must outlive the returned token.
class GaugeToken;
std::shared_ptr<GaugeToken> gauge(std::string_view name, std::string_view help,
                                  std::function<double()> read, Label label = {"", ""});

/// The page served at /metrics; it ends with the metrics of the process.
std::string text();

}  // namespace tarn::metrics
