#include "core/base/process_metrics.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include <sys/resource.h>
#include <unistd.h>

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

}  // namespace

std::string process_text() {
  std::string out;
  append_stat(out);
  append_descriptors(out);
  return out;
}

}  // namespace tarn::metrics
