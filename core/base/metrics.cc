#include "core/base/metrics.h"

#include <map>
#include <tuple>
#include <utility>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "core/base/mutex.h"
#include "core/base/process_metrics.h"

namespace tarn::metrics {
namespace {

class CounterHandle final : public Counter {
 public:
  explicit CounterHandle(prometheus::Counter& counter) : counter_(counter) {}
  void add(double amount) override { counter_.Increment(amount); }

 private:
  prometheus::Counter& counter_;
};

class HistogramHandle final : public Histogram {
 public:
  explicit HistogramHandle(prometheus::Histogram& histogram) : histogram_(histogram) {}
  void observe(double seconds) override { histogram_.Observe(seconds); }

 private:
  prometheus::Histogram& histogram_;
};

using Key = std::tuple<std::string, std::string, std::string>;

struct Registry {
  prometheus::Registry registry;
  Mutex mutex;
  std::map<Key, std::unique_ptr<Counter>> counters TARN_GUARDED_BY(mutex);
  std::map<Key, std::unique_ptr<Histogram>> histograms TARN_GUARDED_BY(mutex);
  std::map<GaugeToken*, std::pair<prometheus::Gauge*, std::function<double()>>> gauges
      TARN_GUARDED_BY(mutex);
};

Registry& state() {
  static Registry* const instance = new Registry;  // never destroyed: statics hold handles
  return *instance;
}

std::map<std::string, std::string> labels_of(Label label) {
  if (label.name.empty()) return {};
  return {{std::string(label.name), std::string(label.value)}};
}

Key key_of(std::string_view name, Label label) {
  return {std::string(name), std::string(label.name), std::string(label.value)};
}

}  // namespace

class GaugeToken {
 public:
  ~GaugeToken() {
    MutexLock lock(state().mutex);
    state().gauges.erase(this);
  }
};

Counter& counter(std::string_view name, std::string_view help, Label label) {
  Registry& all = state();
  MutexLock lock(all.mutex);
  auto& slot = all.counters[key_of(name, label)];
  if (!slot) {
    auto& family = prometheus::BuildCounter()
                       .Name(std::string(name))
                       .Help(std::string(help))
                       .Register(all.registry);
    slot = std::make_unique<CounterHandle>(family.Add(labels_of(label)));
  }
  return *slot;
}

Counter& counter(std::string_view name, std::string_view help, Label first, Label second) {
  Registry& all = state();
  MutexLock lock(all.mutex);
  std::map<std::string, std::string> labels = labels_of(first);
  labels.merge(labels_of(second));
  std::string names;
  std::string values;
  for (const auto& [label, value] : labels) {
    names += label + ' ';
    values += value + ' ';
  }
  auto& slot = all.counters[Key(name, names, values)];
  if (!slot) {
    auto& family = prometheus::BuildCounter()
                       .Name(std::string(name))
                       .Help(std::string(help))
                       .Register(all.registry);
    slot = std::make_unique<CounterHandle>(family.Add(labels));
  }
  return *slot;
}

Histogram& histogram(std::string_view name, std::string_view help, Label label) {
  Registry& all = state();
  MutexLock lock(all.mutex);
  auto& slot = all.histograms[key_of(name, label)];
  if (!slot) {
    auto& family = prometheus::BuildHistogram()
                       .Name(std::string(name))
                       .Help(std::string(help))
                       .Register(all.registry);
    const prometheus::Histogram::BucketBoundaries buckets = {
        0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100};
    slot = std::make_unique<HistogramHandle>(family.Add(labels_of(label), buckets));
  }
  return *slot;
}

std::shared_ptr<GaugeToken> gauge(std::string_view name, std::string_view help,
                                  std::function<double()> read, Label label) {
  Registry& all = state();
  auto token = std::make_shared<GaugeToken>();
  MutexLock lock(all.mutex);
  auto& family = prometheus::BuildGauge()
                     .Name(std::string(name))
                     .Help(std::string(help))
                     .Register(all.registry);
  all.gauges[token.get()] = {&family.Add(labels_of(label)), std::move(read)};
  return token;
}

std::string text() {
  Registry& all = state();
  {
    MutexLock lock(all.mutex);
    for (auto& [token, entry] : all.gauges) entry.first->Set(entry.second());
  }
  return prometheus::TextSerializer().Serialize(all.registry.Collect()) + process_text();
}

}  // namespace tarn::metrics
