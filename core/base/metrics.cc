#include "core/base/metrics.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/mutex.h"
#include "core/base/str_cat.h"

namespace tarn::metrics {
namespace {

std::string text_of(const char* path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Fields of /proc/self/stat after the program's name, which may hold blanks. Source: proc(5).
enum StatField : size_t {
  kUserTicks = 11,
  kSystemTicks = 12,
  kThreads = 17,
  kStartTicks = 19,
  kVirtualBytes = 20,
  kResidentPages = 21,
  kFieldsMin = 22
};

std::vector<double> stat_fields() {
  const std::string text = text_of("/proc/self/stat");
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest(text.substr(name_end + 1));
  std::string state;
  rest >> state;
  std::vector<double> out{0};
  for (double value = 0; rest >> value;) out.push_back(value);
  return out;
}

/// When the machine started, in seconds since the epoch.
std::optional<double> boot_seconds() {
  const std::string text = text_of("/proc/stat");
  const size_t at = text.find("\nbtime ");
  if (at == std::string::npos) return std::nullopt;
  std::istringstream rest(text.substr(at + 7));
  double seconds = 0;
  if (!(rest >> seconds)) return std::nullopt;
  return seconds;
}

void append(std::string& out, std::string_view name, std::string_view type, std::string_view help,
            double value) {
  std::ostringstream number;
  number.precision(15);
  number << value;
  out += str_cat("# HELP ", name, ' ', help, "\n# TYPE ", name, ' ', type, '\n', name, ' ',
                 number.str(), '\n');
}

void append_stat(std::string& out) {
  const std::vector<double> fields = stat_fields();
  if (fields.size() < kFieldsMin) return;
  const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
  append(out, "process_cpu_seconds_total", "counter", "User and system CPU time spent",
         (fields[kUserTicks] + fields[kSystemTicks]) / ticks);
  append(out, "process_threads", "gauge", "Threads", fields[kThreads]);
  append(out, "process_virtual_memory_bytes", "gauge", "Virtual memory size",
         fields[kVirtualBytes]);
  append(out, "process_resident_memory_bytes", "gauge", "Resident memory size",
         fields[kResidentPages] * static_cast<double>(::sysconf(_SC_PAGESIZE)));
  if (const auto boot = boot_seconds()) {
    append(out, "process_start_time_seconds", "gauge", "Start time, in seconds since the epoch",
           *boot + fields[kStartTicks] / ticks);
  }
}

void append_descriptors(std::string& out) {
  std::error_code error;
  const std::filesystem::directory_iterator open("/proc/self/fd", error);
  if (!error) {
    const auto count = std::distance(begin(open), end(open));
    append(out, "process_open_fds", "gauge", "Open file descriptors", static_cast<double>(count));
  }
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    append(out, "process_max_fds", "gauge", "Maximum number of open file descriptors",
           static_cast<double>(limit.rlim_cur));
  }
}

/// The lines of process_* in Prometheus' text form, read from /proc/self; a value that cannot be
/// read is left out. Safe from any thread.
std::string process_text() {
  std::string out;
  append_stat(out);
  append_descriptors(out);
  return out;
}

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

void Counter::add(double amount) { counter_.Increment(amount); }

void Histogram::observe(double seconds) { histogram_.Observe(seconds); }

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
    slot = std::make_unique<Counter>(family.Add(labels_of(label)));
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
    slot = std::make_unique<Counter>(family.Add(labels));
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
    slot = std::make_unique<Histogram>(family.Add(labels_of(label), buckets));
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
